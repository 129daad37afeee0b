package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a directory that fails while a heartbeat is in flight counts as reported by it. */
class FailureCountsAsReportedTest {
    @Test
    void failureCountsAsReported() throws Exception {
        // BrokerLifecycleManager: the answer to the report of one failed directory counts as one of another that has failed since
        assertTrue(BrokerDriver.answers().get("second-failure-in-flight-counts-as-reported"));
    }
}
