package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: JBOD: a replica that a reassignment adds is not reported, until directories of its partition are written again. */
class AddedReplicaUnreportedTest {
    @Test
    void addedReplicaUnreported() throws Exception {
        // TopicDelta: the directory of a replica that a reassignment has added is not handed to be assigned, that of a new topic is
        assertTrue(BrokerDriver.answers().get("added-replica-is-not-assigned"));
        // TopicDelta: it is handed once a record has the directories of the partition, also where they are as before
        assertTrue(BrokerDriver.answers().get("rewritten-directories-are-assigned"));
    }
}
