package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a broker that becomes a replica by a reassignment never reports the directory of its log. */
class AddedReplicaUnreportedTest {
    @Test
    void addedReplicaUnreported() throws Exception {
        // TopicDelta: the directory of a replica that a reassignment has added is not handed to be assigned, that of a new topic is
        assertTrue(BrokerDriver.answers().get("added-replica-is-not-assigned"));
    }
}
