package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: ISR: metadata of the leader's own partition epoch drops its pending AlterPartition, and records commit without the new member. */
class EndedProposalTest {
    @Test
    void endedProposal() throws Exception {
        // Partition: metadata of a known partition epoch ends the leader's proposal
        assertTrue(BrokerDriver.answers().get("equal-epoch-ends-proposal"));
    }
}
