package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: loss-is-marked. Found by kraftcheck in elections, scope directories (brokers 2, directories 2, replication 2, reassignment 0, reserved 0), rules kafka-4.4.0. */
class UnmarkedUncleanElectionTest {
    @Test
    void unmarkedUncleanElection() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 2, 0, 1, 1, 1, 3, 0, -2, 0, 0, 0, 0, 3, 0, 0, 3, 3, 1, 0, 0);

        // 1. fence(broker=0)
        assertEquals(TourDriver.DONE, managers.act("fence", 0, 0, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(1, after1.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(1, 1), numbers(after1.directories), "directories");

        // 2. new_incarnation(broker=1, clean=False, dirs={1})
        assertEquals(TourDriver.DONE, managers.act("new_incarnation", 1, 0, 2));
        PartitionRegistration after2 = managers.partition();
        assertEquals(-1, after2.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(1, 1), numbers(after2.directories), "directories");

        // 3. set_unclean_election()
        assertEquals(TourDriver.DONE, managers.act("set_unclean_election", -1, 0, 0));
        PartitionRegistration after3 = managers.partition();
        assertEquals(-1, after3.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after3.replicas), "replicas");
        assertEquals(List.of(), ordered(after3.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after3.isr), "isr");
        assertEquals(List.of(), sorted(after3.elr), "elr");
        assertEquals(List.of(), sorted(after3.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after3.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after3.leaderRecoveryState);
        assertEquals(List.of(1, 1), numbers(after3.directories), "directories");

        // 4. assign(broker=0, directory=3)
        assertEquals(TourDriver.DONE, managers.act("assign", 0, 3, 0));
        PartitionRegistration after4 = managers.partition();
        assertEquals(-1, after4.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after4.replicas), "replicas");
        assertEquals(List.of(), ordered(after4.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after4.isr), "isr");
        assertEquals(List.of(), sorted(after4.elr), "elr");
        assertEquals(List.of(), sorted(after4.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after4.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after4.leaderRecoveryState);
        assertEquals(List.of(3, 1), numbers(after4.directories), "directories");

        // 5. heartbeat(broker=0, failed={0})
        assertEquals(TourDriver.DONE, managers.act("heartbeat", 0, 1, 0));
        PartitionRegistration after5 = managers.partition();
        assertEquals(0, after5.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after5.replicas), "replicas");
        assertEquals(List.of(), ordered(after5.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after5.isr), "isr");
        assertEquals(List.of(), sorted(after5.elr), "elr");
        assertEquals(List.of(), sorted(after5.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after5.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after5.leaderRecoveryState);
        assertEquals(List.of(3, 1), numbers(after5.directories), "directories");
        assertEquals(managers.dirsOf(0, 2), managers.online(0), "online directories");

        // 6. unfence(broker=1)
        assertEquals(TourDriver.DONE, managers.act("unfence", 1, 0, 0));
        PartitionRegistration after6 = managers.partition();
        assertEquals(0, after6.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after6.replicas), "replicas");
        assertEquals(List.of(), ordered(after6.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after6.isr), "isr");
        assertEquals(List.of(), sorted(after6.elr), "elr");
        assertEquals(List.of(), sorted(after6.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after6.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERING, after6.leaderRecoveryState);
        assertEquals(List.of(3, 1), numbers(after6.directories), "directories");

        // 7. alter_partition(isr={0}, recovering=False)
        assertEquals(TourDriver.DONE, managers.act("alter_partition", -1, 0, 1));
        PartitionRegistration after7 = managers.partition();
        assertEquals(1, after7.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after7.replicas), "replicas");
        assertEquals(List.of(), ordered(after7.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after7.isr), "isr");
        assertEquals(List.of(), sorted(after7.elr), "elr");
        assertEquals(List.of(), sorted(after7.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after7.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after7.leaderRecoveryState);
        assertEquals(List.of(3, 1), numbers(after7.directories), "directories");
    }

    private static List<Integer> ordered(int[] members) {
        return IntStream.of(members).boxed().toList();
    }

    private static List<Integer> sorted(int[] members) {
        return IntStream.of(members).sorted().boxed().toList();
    }

    private static List<Integer> numbers(Uuid[] directories) {
        return Stream.of(directories).map(TourDriver.Managers::number).toList();
    }
}
