package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: loss-is-marked. Found by kraftcheck in elections, scope default (brokers 3, directories 1, replication 2, reassignment 1, reserved 0), rules kafka-4.4.0-elr-available. */
class SilentUncleanCancelTest {
    @Test
    void silentUncleanCancel() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(3, 1, 0, -1, -1, 3, 1, 1, 1, 0, -2, 0, 0, 0, 0, 7, 0, 0, 1, 1, 1, 1, 0, 0);

        // 1. reassign(target=[2,1])
        assertEquals(TourDriver.DONE, managers.act("reassign", -1, 0, 0, 2, 1));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(2, 1, 0), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(0), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(1, 2), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(3, 3, 3), numbers(after1.directories), "directories");

        // 2. set_unclean_election()
        assertEquals(TourDriver.DONE, managers.act("set_unclean_election", -1, 0, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(0, after2.leader, "leader");
        assertEquals(List.of(2, 1, 0), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(0), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(1, 2), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(3, 3, 3), numbers(after2.directories), "directories");

        // 3. alter_partition(isr={0,2}, recovering=False)
        assertEquals(TourDriver.DONE, managers.act("alter_partition", -1, 0, 5));
        PartitionRegistration after3 = managers.partition();
        assertEquals(0, after3.leader, "leader");
        assertEquals(List.of(2, 1, 0), ordered(after3.replicas), "replicas");
        assertEquals(List.of(), ordered(after3.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0, 2), sorted(after3.isr), "isr");
        assertEquals(List.of(), sorted(after3.elr), "elr");
        assertEquals(List.of(0), sorted(after3.removingReplicas), "removing");
        assertEquals(List.of(1, 2), sorted(after3.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after3.leaderRecoveryState);
        assertEquals(List.of(3, 3, 3), numbers(after3.directories), "directories");

        // 4. fence(broker=0)
        assertEquals(TourDriver.DONE, managers.act("fence", 0, 0, 0));
        PartitionRegistration after4 = managers.partition();
        assertEquals(2, after4.leader, "leader");
        assertEquals(List.of(2, 1, 0), ordered(after4.replicas), "replicas");
        assertEquals(List.of(), ordered(after4.lastKnownElr), "last_known_elr");
        assertEquals(List.of(2), sorted(after4.isr), "isr");
        assertEquals(List.of(), sorted(after4.elr), "elr");
        assertEquals(List.of(0), sorted(after4.removingReplicas), "removing");
        assertEquals(List.of(1, 2), sorted(after4.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after4.leaderRecoveryState);
        assertEquals(List.of(3, 3, 3), numbers(after4.directories), "directories");

        // 5. unfence(broker=0)
        assertEquals(TourDriver.DONE, managers.act("unfence", 0, 0, 0));
        PartitionRegistration after5 = managers.partition();
        assertEquals(2, after5.leader, "leader");
        assertEquals(List.of(2, 1, 0), ordered(after5.replicas), "replicas");
        assertEquals(List.of(), ordered(after5.lastKnownElr), "last_known_elr");
        assertEquals(List.of(2), sorted(after5.isr), "isr");
        assertEquals(List.of(), sorted(after5.elr), "elr");
        assertEquals(List.of(0), sorted(after5.removingReplicas), "removing");
        assertEquals(List.of(1, 2), sorted(after5.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after5.leaderRecoveryState);
        assertEquals(List.of(3, 3, 3), numbers(after5.directories), "directories");

        // 6. cancel()
        assertEquals(TourDriver.DONE, managers.act("cancel", -1, 0, 0));
        PartitionRegistration after6 = managers.partition();
        assertEquals(0, after6.leader, "leader");
        assertEquals(List.of(0), ordered(after6.replicas), "replicas");
        assertEquals(List.of(), ordered(after6.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after6.isr), "isr");
        assertEquals(List.of(), sorted(after6.elr), "elr");
        assertEquals(List.of(), sorted(after6.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after6.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after6.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after6.directories), "directories");
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
