"""Operator mutants: small changes of the text of the rules, which nobody chose.

`operators` says what is changed. `names` lists the mutants, by name and by rule, and puts one into the running rules:

    for mutant in of_rule("elr.empty-at-min-isr"):
        with applied(mutant):
            program = trace(system, setting)  # the system with that mutant; any question may follow
"""
