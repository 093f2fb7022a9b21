"""The instructor's way after grading: feedback, class report, grades out, a class to try it on."""
