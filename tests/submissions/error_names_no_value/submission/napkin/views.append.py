_view, _diagonal = View, diagonal


def _tersely(method):
    def call(self, *arguments):
        try:
            return View(**vars(method(self, *arguments)))
        except (IndexError, ValueError) as error:
            raise type(error)("no") from None

    return call


class View(_view):
    permute, slice, select, expand = map(_tersely, (_view.permute, _view.slice, _view.select, _view.expand))


def diagonal(x):
    if x.dim() < 2:
        raise ValueError("wrong rank")
    return _diagonal(x)
