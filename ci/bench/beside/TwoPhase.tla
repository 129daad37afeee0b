------------------------------ MODULE TwoPhase ------------------------------
(* Two-phase commit as in kraftcheck.ci.bench.two_phase_commit. A message is *)
(* received once: a second time would change nothing.                        *)
EXTENDS Naturals

CONSTANT N

VARIABLES prepared, committed, aborted, manager, heard, promised, commitSent, abortSent

vars == <<prepared, committed, aborted, manager, heard, promised, commitSent, abortSent>>

Managers == 1..N

Init ==
  /\ prepared = {} /\ committed = {} /\ aborted = {} /\ heard = {} /\ promised = {}
  /\ manager = "undecided" /\ commitSent = FALSE /\ abortSent = FALSE

Working(rm) == rm \notin (prepared \union committed \union aborted)

ManagerHears(rm) ==
  /\ manager = "undecided" /\ rm \in promised \ heard
  /\ heard' = heard \union {rm}
  /\ UNCHANGED <<prepared, committed, aborted, manager, promised, commitSent, abortSent>>

ManagerCommits ==
  /\ manager = "undecided" /\ heard = Managers
  /\ manager' = "committed" /\ commitSent' = TRUE
  /\ UNCHANGED <<prepared, committed, aborted, heard, promised, abortSent>>

ManagerAborts ==
  /\ manager = "undecided"
  /\ manager' = "aborted" /\ abortSent' = TRUE
  /\ UNCHANGED <<prepared, committed, aborted, heard, promised, commitSent>>

Prepares(rm) ==
  /\ Working(rm)
  /\ prepared' = prepared \union {rm} /\ promised' = promised \union {rm}
  /\ UNCHANGED <<committed, aborted, manager, heard, commitSent, abortSent>>

ChoosesToAbort(rm) ==
  /\ Working(rm)
  /\ aborted' = aborted \union {rm}
  /\ UNCHANGED <<prepared, committed, manager, heard, promised, commitSent, abortSent>>

HearsCommit(rm) ==
  /\ commitSent /\ rm \notin committed
  /\ committed' = committed \union {rm} /\ prepared' = prepared \ {rm} /\ aborted' = aborted \ {rm}
  /\ UNCHANGED <<manager, heard, promised, commitSent, abortSent>>

HearsAbort(rm) ==
  /\ abortSent /\ rm \notin aborted
  /\ aborted' = aborted \union {rm} /\ prepared' = prepared \ {rm} /\ committed' = committed \ {rm}
  /\ UNCHANGED <<manager, heard, promised, commitSent, abortSent>>

Next ==
  \/ ManagerCommits \/ ManagerAborts
  \/ \E rm \in Managers :
       ManagerHears(rm) \/ Prepares(rm) \/ ChoosesToAbort(rm) \/ HearsCommit(rm) \/ HearsAbort(rm)

Spec == Init /\ [][Next]_vars

Consistent == committed = {} \/ aborted = {}
=============================================================================
