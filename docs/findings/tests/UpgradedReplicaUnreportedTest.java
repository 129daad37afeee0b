package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: after metadata.version was raised to one with directories, a running broker does not report where its replicas are. */
class UpgradedReplicaUnreportedTest {
    @Test
    void upgradedReplicaUnreported() throws Exception {
        // Partition: a leader whose assigned directory is not online throws beside its log, if another failed
        assertTrue(BrokerDriver.answers().get("unknown-directory-hides-log"));
    }
}
