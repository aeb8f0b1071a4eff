def half_a_function(shape
    return shape
