package org.apache.kafka.controller;

import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.BrokerRegistrationReply;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.timeline.SnapshotRegistry;

/** What the managers of 4.0.0 and later have in their own way; TourRelease39.java has the same for those before. */
final class TourRelease {
    private TourRelease() { }

    static Map<String, VersionRange> supportedFeatures() {
        return QuorumFeatures.defaultSupportedFeatureMap(true);
    }

    static void createSnapshot(SnapshotRegistry snapshots, long epoch) {
        snapshots.idempotentCreateSnapshot(epoch);
    }

    static void withFeatures(ConfigurationControlManager.Builder configs, FeatureControlManager features) {
        configs.setFeatureControl(features);
    }

    static void onShutdown(ClusterControlManager.Builder cluster, Supplier<ReplicationControlManager> replication) {
        cluster.setBrokerShutdownHandler((broker, clean, records) ->
            replication.get().handleBrokerShutdown(broker, clean, records));
    }

    static boolean hasElr(FeatureControlManager features) {
        return features.isElrFeatureEnabled();
    }

    /** Whether the record is one that empties ELRs; it is replayed then. */
    static boolean clearsElr(ReplicationControlManager replication, ApiMessage record) {
        if (!(record instanceof ClearElrRecord)) {
            return false;
        }
        replication.replay((ClearElrRecord) record);
        return true;
    }

    /** The session of one broker was last renewed a minute ago, those of the others just now. */
    static void letExpire(ClusterControlManager cluster, TourDriver.Clock clock, int broker) {
        BrokerHeartbeatTracker tracker = cluster.heartbeatManager().tracker();
        long stale = clock.nanoseconds();
        clock.sleep(TourDriver.A_MINUTE);
        for (BrokerRegistration known : cluster.brokerRegistrations().values()) {
            tracker.updateContactTime(new BrokerIdAndEpoch(known.id(), known.epoch()),
                known.id() == broker ? stale : clock.nanoseconds());
        }
    }

    static ControllerResult<BrokerRegistrationReply> register(
        ClusterControlManager cluster, BrokerRegistrationRequestData request, long epoch,
        FinalizedControllerFeatures finalized, boolean detectsCleanShutdown
    ) {
        return cluster.registerBroker(request, epoch, finalized, detectsCleanShutdown);
    }

    /** The topic whose ELRs a record empties, no name for every topic; null for another record. */
    static String emptiesElrsOf(ApiMessage record) {
        return record instanceof ClearElrRecord ? ((ClearElrRecord) record).topicName() : null;
    }

    static ApiMessage emptiesElrs() {
        return new ClearElrRecord();
    }

    /** What the controller notes of a heartbeat before it is an event. */
    static void contact(ClusterControlManager cluster, int broker, long epoch) {
        cluster.trackBrokerHeartbeat(broker, epoch);
    }
}
