---- MODULE RaftElection ----
\* Raft's election of a leader alone, written for kraftcheck: raft.tla of Diego Ongaro without logs and entries. Messages
\* stay once they are sent: each may be lost, late, or read again. A candidate votes for itself and asks all at once.
EXTENDS Naturals, FiniteSets
CONSTANTS Servers, LastTerm, Nobody, Forgetful
VARIABLES term, role, vote, sent

Init == /\ term = [i \in Servers |-> 0]
        /\ role = [i \in Servers |-> "follower"]
        /\ vote = [i \in Servers |-> Nobody]
        /\ sent = {}

\* Term and vote are on disk; a forgetful server does not write its vote there.
Restart(i) == /\ role' = [role EXCEPT ![i] = "follower"]
              /\ vote' = IF Forgetful THEN [vote EXCEPT ![i] = Nobody] ELSE vote
              /\ UNCHANGED <<term, sent>>

Timeout(i) == /\ role[i] # "leader"
              /\ term[i] < LastTerm
              /\ role' = [role EXCEPT ![i] = "candidate"]
              /\ term' = [term EXCEPT ![i] = @ + 1]
              /\ vote' = [vote EXCEPT ![i] = i]
              /\ sent' = sent \cup {<<"ask", term[i] + 1, i>>, <<"yes", term[i] + 1, i, i>>}

Learn(i, t) == /\ {j \in Servers : <<"ask", t, j>> \in sent} # {}
               /\ t > term[i]
               /\ term' = [term EXCEPT ![i] = t]
               /\ role' = [role EXCEPT ![i] = "follower"]
               /\ vote' = [vote EXCEPT ![i] = Nobody]
               /\ UNCHANGED sent

Grant(i, j) == /\ <<"ask", term[i], j>> \in sent
               /\ vote[i] = Nobody
               /\ vote' = [vote EXCEPT ![i] = j]
               /\ sent' = sent \cup {<<"yes", term[i], i, j>>}
               /\ UNCHANGED <<term, role>>

Votes(t, i) == {j \in Servers : <<"yes", t, j, i>> \in sent}

Elected(t, i) == 2 * Cardinality(Votes(t, i)) > Cardinality(Servers)

Lead(i) == /\ role[i] = "candidate"
           /\ Elected(term[i], i)
           /\ role' = [role EXCEPT ![i] = "leader"]
           /\ UNCHANGED <<term, vote, sent>>

Next == \/ \E i \in Servers : Restart(i) \/ Timeout(i) \/ Lead(i)
        \/ \E i \in Servers, t \in 1..LastTerm : Learn(i, t)
        \/ \E i, j \in Servers : Grant(i, j)

OneLeader == \A i, j \in Servers : (role[i] = "leader" /\ role[j] = "leader" /\ term[i] = term[j]) => i = j

OneElected == \A t \in 1..LastTerm : \A i, j \in Servers : (Elected(t, i) /\ Elected(t, j)) => i = j
====
