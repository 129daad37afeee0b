package org.apache.kafka.controller;

import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.BrokerRegistrationReply;
import org.apache.kafka.metadata.FinalizedControllerFeatures;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.timeline.SnapshotRegistry;

/** What the managers of 3.9 have in their own way, see TourRelease40.java: no ELR in production, no clean restart. */
final class TourRelease {
    private TourRelease() { }

    static Map<String, VersionRange> supportedFeatures() {
        return QuorumFeatures.defaultFeatureMap(true);
    }

    static void createSnapshot(SnapshotRegistry snapshots, long epoch) {
        snapshots.getOrCreateSnapshot(epoch);
    }

    static void withFeatures(ConfigurationControlManager.Builder configs, FeatureControlManager features) { }

    static void onShutdown(ClusterControlManager.Builder cluster, Supplier<ReplicationControlManager> replication) {
        cluster.setBrokerUncleanShutdownHandler((broker, records) ->
            replication.get().handleBrokerUncleanShutdown(broker, records));
    }

    static boolean hasElr(FeatureControlManager features) {
        return features.metadataVersion().isElrSupported();
    }

    static boolean clearsElr(ReplicationControlManager replication, ApiMessage record) {
        return false;
    }

    /** The last heartbeat of one broker was a minute ago, those of the others are of now. */
    static void letExpire(ClusterControlManager cluster, TourDriver.Clock clock, int broker) {
        clock.sleep(TourDriver.A_MINUTE);
        for (BrokerRegistration known : cluster.brokerRegistrations().values()) {
            if (known.id() != broker) {
                cluster.heartbeatManager().touch(known.id(), known.fenced(), -1);
            }
        }
    }

    static ControllerResult<BrokerRegistrationReply> register(
        ClusterControlManager cluster, BrokerRegistrationRequestData request, long epoch,
        FinalizedControllerFeatures finalized, boolean detectsCleanShutdown
    ) {
        return cluster.registerBroker(request, epoch, finalized);
    }

    static String emptiesElrsOf(ApiMessage record) {
        return null;
    }

    static ApiMessage emptiesElrs() {
        return null;
    }

    static void contact(ClusterControlManager cluster, int broker, long epoch) { }
}
