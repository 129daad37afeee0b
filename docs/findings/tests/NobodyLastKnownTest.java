package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: last-known-is-one-replica. Found by kraftcheck in elections, scope tiny (brokers 2, directories 1, replication 2, reassignment 1, reserved 0), rules kafka-4.4.0-removed-replica-stays-last-known-last-known-leader-may-be-removed. */
class NobodyLastKnownTest {
    @Test
    void nobodyLastKnown() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 1, 0, 1, 3, 3, 3, 0, -2, 0, 0, 0, 0, 3, 0, 0, 1, 1, 1, 0, 0);

        // 1. controlled_shutdown(broker=0)
        assertEquals(TourDriver.DONE, managers.act("controlled_shutdown", 0, 0, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(1, after1.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after1.directories), "directories");

        // 2. controlled_shutdown(broker=1)
        assertEquals(TourDriver.DONE, managers.act("controlled_shutdown", 1, 0, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(-1, after2.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after2.replicas), "replicas");
        assertEquals(List.of(), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after2.isr), "isr");
        assertEquals(List.of(), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after2.directories), "directories");

        // 3. enable_elr()
        assertEquals(TourDriver.DONE, managers.act("enable_elr", -1, 0, 0));
        PartitionRegistration after3 = managers.partition();
        assertEquals(-1, after3.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after3.replicas), "replicas");
        assertEquals(List.of(), ordered(after3.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after3.isr), "isr");
        assertEquals(List.of(), sorted(after3.elr), "elr");
        assertEquals(List.of(), sorted(after3.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after3.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after3.leaderRecoveryState);
        assertEquals(List.of(3, 3), numbers(after3.directories), "directories");

        // 4. reassign(target=[1])
        assertEquals(TourDriver.DONE, managers.act("reassign", -1, 0, 0, 1));
        PartitionRegistration after4 = managers.partition();
        assertEquals(-1, after4.leader, "leader");
        assertEquals(List.of(1), ordered(after4.replicas), "replicas");
        assertEquals(List.of(-1), ordered(after4.lastKnownElr), "last_known_elr");
        assertEquals(List.of(1), sorted(after4.isr), "isr");
        assertEquals(List.of(), sorted(after4.elr), "elr");
        assertEquals(List.of(), sorted(after4.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after4.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after4.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after4.directories), "directories");
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
