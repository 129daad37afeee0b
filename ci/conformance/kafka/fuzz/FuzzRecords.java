package org.apache.kafka.controller;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.metadata.PartitionRegistration;

/** The texts of records and of partitions, as the Python side writes them too; a topic is its number in order. */
final class FuzzRecords {
    private FuzzRecords() { }

    static String text(ApiMessage message, List<Uuid> topics) {
        if (message instanceof PartitionChangeRecord) return change((PartitionChangeRecord) message, topics);
        if (message instanceof PartitionRecord) return partition((PartitionRecord) message, topics);
        if (message instanceof BrokerRegistrationChangeRecord) {
            BrokerRegistrationChangeRecord r = (BrokerRegistrationChangeRecord) message;
            return "broker " + r.brokerId() + " " + r.brokerEpoch() + " " + r.fenced() + " " + r.inControlledShutdown()
                + " " + uuids(r.logDirs() == null ? List.of() : r.logDirs()) + " " + cordoned(r);
        }
        if (message instanceof RegisterBrokerRecord) {
            RegisterBrokerRecord r = (RegisterBrokerRecord) message;
            return "register " + r.brokerId() + " " + r.brokerEpoch() + " " + r.incarnationId().getLeastSignificantBits()
                + " " + r.fenced() + " " + r.inControlledShutdown() + " " + uuids(r.logDirs()) + " " + r.rack()
                + " " + cordoned(r);
        }
        if (message instanceof UnregisterBrokerRecord) {
            UnregisterBrokerRecord r = (UnregisterBrokerRecord) message;
            return "unregister " + r.brokerId() + " " + r.brokerEpoch();
        }
        if (message instanceof TopicRecord) {
            TopicRecord r = (TopicRecord) message;
            return "topic " + r.name() + " " + topics.indexOf(r.topicId());
        }
        if (message instanceof RemoveTopicRecord) {
            return "remove " + topics.indexOf(((RemoveTopicRecord) message).topicId());
        }
        if (message instanceof ConfigRecord) {
            ConfigRecord r = (ConfigRecord) message;
            boolean ofTopic = r.resourceType() == ConfigResource.Type.TOPIC.id();
            String scope = ofTopic ? "topic" : r.resourceName().isEmpty() ? "cluster" : "node";
            return "config " + scope + " " + r.resourceName() + " " + r.name() + " " + r.value();
        }
        if (message instanceof FeatureLevelRecord) {
            FeatureLevelRecord r = (FeatureLevelRecord) message;
            return "feature " + r.name() + " " + r.featureLevel();
        }
        String empties = TourRelease.emptiesElrsOf(message);
        if (empties != null) return "clear-elr " + empties;
        throw new IllegalStateException("no text for " + message);
    }

    /** Every partition in the order of topics and indexes. */
    static String image(ReplicationControlManager replication, List<Uuid> topics) {
        StringBuilder result = new StringBuilder();
        for (int topic = 0; topic < topics.size(); topic++) {
            var known = replication.getTopic(topics.get(topic));
            if (known == null) continue;
            for (int index = 0; index < known.numPartitions(Long.MAX_VALUE); index++) {
                PartitionRegistration p = replication.getPartition(topics.get(topic), index);
                result.append(topic).append('-').append(index)
                    .append(" replicas=").append(ints(p.replicas)).append(" isr=").append(ints(p.isr))
                    .append(" removing=").append(ints(p.removingReplicas)).append(" adding=").append(ints(p.addingReplicas))
                    .append(" elr=").append(ints(p.elr)).append(" last_known_elr=").append(ints(p.lastKnownElr))
                    .append(" leader=").append(p.leader).append(" recovering=").append(p.leaderRecoveryState.value())
                    .append(" epochs=").append(p.leaderEpoch).append(',').append(p.partitionEpoch)
                    .append(" directories=").append(uuids(List.of(p.directories))).append(';');
            }
        }
        return result.toString();
    }

    private static String partition(PartitionRecord r, List<Uuid> topics) {
        return "partition " + topics.indexOf(r.topicId()) + "-" + r.partitionId() + " replicas=" + ids(r.replicas())
            + " isr=" + ids(r.isr()) + " removing=" + ids(r.removingReplicas()) + " adding=" + ids(r.addingReplicas())
            + " leader=" + r.leader() + " recovering=" + r.leaderRecoveryState()
            + " epochs=" + r.leaderEpoch() + "," + r.partitionEpoch() + " directories=" + uuids(r.directories())
            + " elr=" + ids(r.eligibleLeaderReplicas()) + " last_known_elr=" + ids(r.lastKnownElr());
    }

    private static String change(PartitionChangeRecord r, List<Uuid> topics) {
        Map<String, String> fields = new TreeMap<>();
        if (r.leader() != -2) fields.put("leader", String.valueOf(r.leader()));
        if (r.leaderRecoveryState() != -1) fields.put("recovering", String.valueOf(r.leaderRecoveryState()));
        put(fields, "isr", r.isr());
        put(fields, "replicas", r.replicas());
        put(fields, "removing", r.removingReplicas());
        put(fields, "adding", r.addingReplicas());
        put(fields, "elr", r.eligibleLeaderReplicas());
        put(fields, "last_known_elr", r.lastKnownElr());
        if (r.directories() != null && !r.directories().isEmpty()) fields.put("directories", uuids(r.directories()));
        StringBuilder text = new StringBuilder("change " + topics.indexOf(r.topicId()) + "-" + r.partitionId());
        fields.forEach((name, value) -> text.append(' ').append(name).append('=').append(value));
        return text.toString();
    }

    private static void put(Map<String, String> fields, String name, List<Integer> members) {
        if (members != null) fields.put(name, ids(members));
    }

    private static String ints(int[] members) {
        return java.util.Arrays.stream(members).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }

    private static String ids(List<Integer> members) {
        return members == null ? "" : members.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    @SuppressWarnings("unchecked")
    private static String cordoned(ApiMessage record) {
        Object directories = ControlManagers.get(record, "cordonedLogDirs");
        return directories == null ? "null" : uuids((List<Uuid>) directories);
    }

    private static String uuids(List<Uuid> directories) {
        return directories.stream().map(dir -> String.valueOf(FuzzRequests.number(dir)))
            .collect(Collectors.joining(","));
    }
}
