package org.apache.kafka.controller;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.junit.jupiter.api.Test;

/** Shows a defect: failed-directories-unregistered. Found by kraftcheck in elections, scope directories (brokers 2, directories 2, replication 2, reassignment 0, reserved 0), rules kafka-4.4.0. */
class AllDirectoriesFailedTest {
    @Test
    void allDirectoriesFailed() throws Exception {
        TourDriver.Managers managers = TourDriver.Managers.in(2, 2, 0, 1, 1, 1, 3, 0, -2, 0, 0, 0, 0, 3, 0, 0, 3, 3, 1, 0, 0);

        // 1. directories_offline(broker=0, failed={0,1})
        assertEquals(TourDriver.DONE, managers.act("directories_offline", 0, 3, 0));
        PartitionRegistration after1 = managers.partition();
        assertEquals(0, after1.leader, "leader");
        assertEquals(List.of(0, 1), ordered(after1.replicas), "replicas");
        assertEquals(List.of(), ordered(after1.lastKnownElr), "last_known_elr");
        assertEquals(List.of(0, 1), sorted(after1.isr), "isr");
        assertEquals(List.of(), sorted(after1.elr), "elr");
        assertEquals(List.of(), sorted(after1.removingReplicas), "removing");
        assertEquals(List.of(), sorted(after1.addingReplicas), "adding");
        assertEquals(LeaderRecoveryState.RECOVERED, after1.leaderRecoveryState);
        assertEquals(List.of(1, 1), numbers(after1.directories), "directories");
        assertEquals(managers.dirsOf(0, 3), managers.online(0), "online directories");
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
