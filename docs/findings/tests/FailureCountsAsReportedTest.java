package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a directory that fails while a heartbeat is in flight counts as reported by it. */
class FailureCountsAsReportedTest {
    @Test
    void failureCountsAsReported() throws Exception {
        // BrokerLifecycleManager: the answer to a heartbeat that was sent before the failure counts as one
        assertTrue(BrokerDriver.answers().get("failure-in-flight-counts-as-reported"));
    }
}
