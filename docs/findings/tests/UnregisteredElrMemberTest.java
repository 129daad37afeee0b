package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: elr-registered. Found by kraftcheck in elections, scope tiny (brokers 2, directories 1, replication 2, reassignment 1, reserved 0), rules kafka-4.4.0-removed-replicas-stay-in-elr. */
class UnregisteredElrMemberTest {
    @Test
    void unregisteredElrMember() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 1, 0, -1, 3, 1, 1, 0, -2, 0, 0, 0, 0, 3, 0, 0, 1, 1, 1, 0, 0);

        // 1. enable_elr()
        assertEquals(TourDriver.DONE, managers.act("enable_elr", -1, 0, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(0), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after1.directories), "directories");

        // 2. unregister(broker=0)
        assertEquals(TourDriver.DONE, managers.act("unregister", 0, 0, 0));
        PartitionRegistration after2 = managers.partition();
        assertEquals(-1, after2.leader, "leader");
        assertEquals(List.of(0), ordered(after2.replicas), "replicas");
        assertEquals(List.of(0), ordered(after2.lastKnownElr), "last_known_elr");
        assertEquals(List.of(), sorted(after2.isr), "isr");
        assertEquals(List.of(0), sorted(after2.elr), "elr");
        assertEquals(List.of(), sorted(after2.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after2.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after2.leaderRecoveryState);
        assertEquals(List.of(3), numbers(after2.directories), "directories");
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
