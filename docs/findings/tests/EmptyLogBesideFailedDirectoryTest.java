package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a replica whose log may be in a failed directory is created anew, empty, in another. */
class EmptyLogBesideFailedDirectoryTest {
    @Test
    void emptyLogBesideFailedDirectory() throws Exception {
        // Partition: a log is created empty beside a failed directory, where metadata knows no directory of the replica
        assertTrue(BrokerDriver.answers().get("empty-log-beside-failed-directory"));
    }
}
