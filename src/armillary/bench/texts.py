"""Texts that the engine is measured on: written for this purpose, committed, never changed without new results."""

from __future__ import annotations

PROMPTS = (
    "Explain in two sentences why the sky is blue.",
    "Write a Python function that returns the n-th Fibonacci number.",
    "List three differences between a stack and a queue.",
    "Translate to French: The library opens at nine in the morning.",
    "What is the capital of Australia, and why is it often guessed wrong?",
    "Write a haiku about an old clock.",
    "How do I reverse a linked list in place?",
    "A train leaves at 14:20 and arrives at 17:05. How long is the journey?",
    "Summarise the plot of Romeo and Juliet in one paragraph.",
    "Write a regular expression that matches a date such as 2024-05-17.",
    "What does the SQL keyword HAVING do?",
    "Name four planets that have rings.",
    "Write a polite e-mail that asks for a deadline to be moved by a week.",
    "What is 17 times 24? Show the steps.",
    "Explain recursion to a ten-year-old.",
    "Give an example of a Python dictionary comprehension.",
    "Why do leaves change colour in autumn?",
    "Convert 72 degrees Fahrenheit to Celsius.",
    "Write a bash command that counts the lines of all .txt files in a folder.",
    "What is the difference between TCP and UDP?",
)

LONG_QUESTION = "Write a long, detailed tutorial about sorting algorithms in Python, with code for each of them."

PASSAGE = """\
A tide table is a promise about the sea. It says that at a given harbour, on a given day, the water will stand highest
at one minute and lowest at another, and by how much. Nobody who wrote the table has seen that day. The promise rests on
a sum of cosines: the moon pulls, the sun pulls, the earth turns, and each of these motions has periods that were
measured long ago. The first machine that added the cosines was made of brass wheels. Each wheel turned at the pace of
one period, lifted a pulley by its own amplitude, and a single wire that ran over all the pulleys summed their heights
and moved a pen. A year of tides for one port took four hours of cranking.

def tide_height(hours, constituents):
    \"\"\"Height of the water in metres above the mean, from (amplitude, speed, phase) triples.\"\"\"
    total = 0.0
    for amplitude, speed, phase in constituents:
        total += amplitude * math.cos(math.radians(speed * hours - phase))
    return total

What makes the method honest is that its errors are known. Wind and air pressure are not in the sum, so a storm can
lift the sea half a metre above the promise; the table says so in small print. A pilot therefore reads the table, looks
at the barometer, and keeps a margin. Engineers who must trust a computation without repeating it live by the same
three steps: know what was summed, know what was left out, and keep a margin for the rest.
"""
