"""What comes after grading: feedback, reports, similar answers; and a class to try it all on."""
