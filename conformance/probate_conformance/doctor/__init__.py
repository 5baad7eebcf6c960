"""The doctor: walks a new adapter through the protocol, one capability at a time.

`probate check` judges a runtime, and takes for granted that its adapter can talk. Who writes an adapter has another
question: what is wrong with the line that I just sent? So the doctor asks little at a time (``lessons``), keeps every
line that goes either way (``patient``), and stops at the first that is not as it should be, with the line itself, what
was expected there, and why (``diagnosis``). What is expected of a lesson is the model's to say, as everywhere.
"""
