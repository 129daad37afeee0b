package org.apache.kafka.controller;

import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.AssignReplicasToDirsResponseData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.MetadataVersion;

/** The managers of a controller with one broker, which leads the one partition: they decide about its directories. */
public final class GrantingController {
    private final ControlManagers managers;
    private final Uuid topic;
    private long offset = 0;

    /** The replica is in the first directory. */
    public GrantingController(int broker, long epoch, Uuid topic, List<Uuid> directories)
            throws ReflectiveOperationException {
        this.topic = topic;
        managers = new ControlManagers(Time.SYSTEM, TourRelease.supportedFeatures(), null);
        replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        replay(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(epoch).setIncarnationId(new Uuid(9, 1))
            .setFenced(false).setLogDirs(directories));
        replay(new TopicRecord().setName("foo").setTopicId(topic));
        replay(new PartitionRecord().setTopicId(topic).setPartitionId(0).setReplicas(List.of(broker))
            .setIsr(List.of(broker)).setLeader(broker).setLeaderEpoch(0).setPartitionEpoch(0)
            .setDirectories(directories.subList(0, 1)));
        managers.cluster.activate();
    }

    /** Decides a request, and commits what it writes. */
    public AssignReplicasToDirsResponseData assign(AssignReplicasToDirsRequestData request) {
        var decided = managers.replication.handleAssignReplicasToDirs(request);
        decided.records().forEach(record -> replay(record.message()));
        return decided.response();
    }

    /** The partition as it is registered now. */
    public PartitionRegistration partition() {
        return managers.replication.getPartition(topic, 0);
    }

    private void replay(ApiMessage record) {
        managers.replay(record, offset++);
    }
}
