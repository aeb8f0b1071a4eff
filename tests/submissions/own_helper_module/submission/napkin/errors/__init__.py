from .lengths import must_be_alike
