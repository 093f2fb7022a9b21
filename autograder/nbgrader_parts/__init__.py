"""Everything that plugs into nbgrader, in one place.

configuration   all settings of nbgrader that the course changes, and a course's own file
release         nbgrader's generate_assignment, the only call of it
clear_answers   the release step that empties answer cells
steps           the steps in `nbgrader autograde`
database        where the gradebook is, and what it stores about an assignment
gradebook       the one writer of the gradebook
late            what late days cost
marks           the gradebook's marks as plain values
exporters       grades for Canvas, Moodle and spreadsheets, as plug-ins of `nbgrader export`
"""
