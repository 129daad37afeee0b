package org.apache.kafka.server;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.controller.Activation;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Asks the classes of a broker what they do with directories that fail and replicas that move.
 *
 * Prints one line for each case: its name, and `true` where the class does what the case says. A case that does not come
 * to its question ends the program with an exception. Arguments: none.
 */
public final class BrokerDriver {
    private static final Map<String, Boolean> ANSWERS = new LinkedHashMap<>();

    private BrokerDriver() { }

    interface Cases {
        void run() throws Exception;
    }

    public static void main(String[] args) {
        try {
            answers();
            System.exit(0);
        } catch (Throwable failure) {
            failure.printStackTrace();
            System.exit(1);
        }
    }

    /** The answer to each case, in order; they are asked once. */
    static Map<String, Boolean> answers() throws Exception {
        if (ANSWERS.isEmpty()) {
            for (Cases cases : List.<Cases>of(Heartbeats::run, Assignments::run, Moves::run, Logs::run,
                    BrokerDriver::activations, BrokerDriver::snapshots)) {
                cases.run();
            }
        }
        return ANSWERS;
    }

    /** A controller aborts the first transaction of its log, whose level it has replayed, or not. */
    private static void activations() throws Exception {
        Activation before = new Activation(false);
        Activation within = new Activation(true);
        require(before.aborts() && within.aborts(), "the transaction is aborted");
        show("transaction-without-level-is-begun-anew", before.names());
        show("aborted-level-is-not-written-again", !within.names());
    }

    /** A partition that a member of the ELR alone could lead, as of a snapshot that is written with ELR on, or off. */
    private static void snapshots() {
        PartitionRegistration on = read(true);
        require(on.elr.length == 1 && on.lastKnownElr.length == 1, "with ELR on it is read as it was");
        PartitionRegistration off = read(false);
        show("snapshot-without-elr-drops-it", off.isr.length + off.elr.length + off.lastKnownElr.length == 0);
    }

    private static PartitionRegistration read(boolean elr) {
        PartitionRegistration partition = new PartitionRegistration.Builder().setReplicas(new int[] {0, 1})
            .setDirectories(new Uuid[] {new Uuid(7, 1), new Uuid(7, 2)}).setIsr(new int[] {}).setElr(new int[] {0})
            .setLastKnownElr(new int[] {0}).setLeader(-1).setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(1).setPartitionEpoch(1).build();
        ImageWriterOptions options = new ImageWriterOptions.Builder(MetadataVersion.latestProduction())
            .setEligibleLeaderReplicasEnabled(elr).build();
        return new PartitionRegistration((PartitionRecord) partition.toRecord(new Uuid(1, 1), 0, options).message());
    }

    static void show(String name, boolean answer) {
        ANSWERS.put(name, answer);
        System.out.println(name + " " + answer);
    }

    /** What has to hold before a question makes sense. */
    static void require(boolean condition, String what) {
        if (!condition) {
            throw new IllegalStateException("not so: " + what);
        }
    }
}
