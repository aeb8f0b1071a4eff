"""The notebook's cells beside its questions, as `notebook.py` reads them: a line `# %% id` leads each."""

# %% [markdown] title
# # Napkin math
#
# First ten questions with your own numbers, then a lab that draws what you have built.
#
# The questions are part of what you hand in: this file lies beside the folder `napkin`. Nothing in it is run when it
# is graded. Your answers are read as they stand, so write down numbers, `True` or `False`, never formulas: work them
# out in cells of your own, or on paper. Two digits will do: 1 % off is right.

# %% [markdown] questions
# ## Ten questions
#
# Each question stands here with practice numbers; run its cell to read it with yours. `make grade ONLY=N` judges your
# answers to the practice numbers (`example_1`, ...). Your own (`answer_1`, ...) are judged when you hand in. All cards
# are H100 SXM unless a question says otherwise: 989.4 TFLOP/s in bf16, dense, and 3.35 TB/s (NVIDIA's data sheet).
#
# Write your student id first, as your course knows it.
