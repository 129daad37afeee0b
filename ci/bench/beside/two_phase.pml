/* Two-phase commit as in kraftcheck.ci.bench.two_phase_commit: sets of the managers 0..N-1 are bits of a word.
 *
 * One process, whose every round is one indivisible step, so that each state of SPIN is a state of the protocol.
 * A message is received once: a second time would change nothing.
 */
#define EVERYONE ((1 << N) - 1)
#define WORKING(i) (!((prepared | committed | aborted) & (1 << i)))
#define CONSISTENT assert(!committed || !aborted)

#define MANAGER(i) \
    :: d_step { manager == 0 && (promised & (1 << i)) && !(heard & (1 << i)) -> heard = heard | (1 << i) } \
    :: d_step { WORKING(i) -> prepared = prepared | (1 << i); promised = promised | (1 << i) } \
    :: d_step { WORKING(i) -> aborted = aborted | (1 << i); CONSISTENT } \
    :: d_step { commit_sent && !(committed & (1 << i)) -> committed = committed | (1 << i); \
                prepared = prepared & ~(1 << i); aborted = aborted & ~(1 << i); CONSISTENT } \
    :: d_step { abort_sent && !(aborted & (1 << i)) -> aborted = aborted | (1 << i); \
                prepared = prepared & ~(1 << i); committed = committed & ~(1 << i); CONSISTENT }

short prepared, committed, aborted, heard, promised;
byte manager;
bit commit_sent, abort_sent;

active proctype protocol() {
end:
    do
    :: d_step { manager == 0 && heard == EVERYONE -> manager = 1; commit_sent = 1 }
    :: d_step { manager == 0 -> manager = 2; abort_sent = 1 }
    MANAGER(0)
#if N > 1
    MANAGER(1)
#endif
#if N > 2
    MANAGER(2)
#endif
#if N > 3
    MANAGER(3)
#endif
#if N > 4
    MANAGER(4)
#endif
#if N > 5
    MANAGER(5)
#endif
#if N > 6
    MANAGER(6)
#endif
#if N > 7
    MANAGER(7)
#endif
#if N > 8
    MANAGER(8)
#endif
    od
}
