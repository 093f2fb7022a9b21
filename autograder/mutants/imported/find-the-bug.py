from course_utils.transformer.bugs import faulty_model

bug_a, bug_b, bug_c = (faulty_model(letter)._fault for letter in "abc")
reason_a = reason_b = reason_c = "it says so itself"
