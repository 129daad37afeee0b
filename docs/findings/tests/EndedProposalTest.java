package org.apache.kafka.server;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Shows a defect: Metadata of a partition epoch that the leader has already drops its pending AlterPartition: it commits without the new ISR member. */
class EndedProposalTest {
    @Test
    void endedProposal() throws Exception {
        // Partition: metadata of a known partition epoch ends the leader's proposal
        assertTrue(BrokerDriver.answers().get("equal-epoch-ends-proposal"));
    }
}
