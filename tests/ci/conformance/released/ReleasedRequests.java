package org.apache.kafka.controller;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Optional;
import java.util.Scanner;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/**
 * Puts requests to the managers of a release, one line of input for each, and prints the answers.
 *
 * Brokers 0 to 2 are live and have the directory 100 + id; topic foo has one partition on all of them.
 */
public final class ReleasedRequests {
    private BrokerHeartbeatTracker tracker;
    private ClusterControlManager cluster;
    private ReplicationControlManager replication;

    public static void main(String[] args) throws Exception {
        Scanner in = new Scanner(System.in);
        ReleasedRequests side = new ReleasedRequests();
        while (in.hasNextLine()) {
            String answer = side.answer(in.nextLine().split(" "));
            if (!answer.isEmpty()) System.out.println(answer);
        }
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "table":
                tracker = new BrokerHeartbeatTracker(Time.SYSTEM, 10);
                return "";
            case "heard":
                tracker.updateContactTime(
                    new BrokerIdAndEpoch(Integer.parseInt(words[1]), Long.parseLong(words[2])),
                    Long.parseLong(words[3]));
                return "";
            case "check":
                return tracker.maybeRemoveExpired(Long.parseLong(words[1]))
                    .map(of -> of.id() + " " + of.epoch()).orElse("none");
            case "managers":
                begin(words.length > 1 ? words[1] : "-");
                return "";
            default:
                try {
                    return request(words);
                } catch (Throwable e) {
                    return "whole " + Errors.forException(e);
                }
        }
    }

    private String request(String[] words) throws Exception {
        switch (words[0]) {
            case "create":
                CreateTopicsRequestData wanted = new CreateTopicsRequestData();
                CreateTopicsRequestData.CreatableTopic topic = new CreateTopicsRequestData.CreatableTopic().setName("new")
                    .setNumPartitions(-1).setReplicationFactor((short) -1);
                if (words[1].contains(",")) {
                    topic.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment()
                        .setPartitionIndex(0).setBrokerIds(ids(words[1])));
                } else {
                    topic.setNumPartitions(Integer.parseInt(words[1])).setReplicationFactor(Short.parseShort(words[2]));
                }
                wanted.topics().add(topic);
                var created = (ControllerResult<?>) call(replication, "createTopics", context(), wanted, Set.of());
                return "row " + Errors.forCode(((org.apache.kafka.common.message.CreateTopicsResponseData)
                    created.response()).topics().find("new").errorCode());
            case "grow":
                var grown = replication.createPartitions(context(), List.of(new CreatePartitionsTopic().setName("foo")
                    .setCount(Integer.parseInt(words[1])).setAssignments(null)));
                return "row " + Errors.forCode(grown.response().get(0).errorCode());
            case "reassign":
                AlterPartitionReassignmentsRequestData moves = new AlterPartitionReassignmentsRequestData()
                    .setTopics(List.of(new ReassignableTopic().setName("foo").setPartitions(List.of(
                        new ReassignablePartition().setPartitionIndex(0).setReplicas(ids(words[1]))))));
                if (words.length > 2) set(moves, "setAllowReplicationFactorChange", boolean.class, false);
                return "row " + Errors.forCode(replication.alterPartitionReassignments(moves).response()
                    .responses().get(0).partitions().get(0).errorCode());
            case "usable":
                List<Integer> usable = new ArrayList<>();
                cluster.usableBrokers().forEachRemaining(broker -> usable.add(broker.id()));
                usable.sort(null);
                return "usable " + usable;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private void begin(String cordoned) throws Exception {
        FeatureControlManager features = new FeatureControlManager.Builder()
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0)))
            .build();
        features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
            .setFeatureLevel(MetadataVersion.latestProduction().featureLevel()));
        cluster = new ClusterControlManager.Builder().setClusterId("cluster").setFeatureControlManager(features)
            .setBrokerShutdownHandler((broker, clean, records) -> { }).build();
        ConfigurationControlManager configs = new ConfigurationControlManager.Builder().setFeatureControl(features)
            .setKafkaConfigSchema(new KafkaConfigSchema(Map.of(
                org.apache.kafka.common.config.ConfigResource.Type.TOPIC, known(),
                org.apache.kafka.common.config.ConfigResource.Type.BROKER, known()), Map.of())).build();
        replication = new ReplicationControlManager.Builder().setConfigurationControl(configs)
            .setClusterControl(cluster).setFeatureControl(features)
            .setCreateTopicPolicy(Optional.of(new Refusing())).build();
        cluster.activate();
        for (int broker = 0; broker < 3; broker++) {
            RegisterBrokerRecord record = new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(100 + broker)
                .setIncarnationId(new Uuid(9, broker)).setFenced(false).setLogDirs(List.of(new Uuid(7, 100 + broker)));
            if (String.valueOf(broker).equals(cordoned)) {
                set(record, "setCordonedLogDirs", List.class, List.of(new Uuid(7, 100 + broker)));
            }
            cluster.replay(record, 100 + broker);
        }
        Uuid id = new Uuid(1, 1);
        replication.replay(new TopicRecord().setName("foo").setTopicId(id));
        replication.replay(new PartitionRecord().setTopicId(id).setPartitionId(0).setReplicas(List.of(0, 1, 2))
            .setIsr(List.of(0, 1, 2)).setLeader(0).setLeaderEpoch(0).setPartitionEpoch(0)
            .setDirectories(List.of(new Uuid(7, 100), new Uuid(7, 101), new Uuid(7, 102))));
    }

    /** Throws what is no answer of Kafka's for a topic of two partitions. */
    static final class Refusing implements CreateTopicPolicy {
        @Override
        public void validate(RequestMetadata request) {
            if (Integer.valueOf(2).equals(request.numPartitions())) throw new IllegalStateException("two");
        }

        @Override
        public void close() { }

        @Override
        public void configure(Map<String, ?> configs) { }
    }

    private static ConfigDef known() {
        return new ConfigDef()
            .define("min.insync.replicas", ConfigDef.Type.INT, 1, ConfigDef.Importance.HIGH, "")
            .define("unclean.leader.election.enable", ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.HIGH, "");
    }

    private static List<Integer> ids(String words) {
        return Arrays.stream(words.split(",")).map(Integer::valueOf).toList();
    }

    private static ControllerRequestContext context() {
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(ApiKeys.CREATE_TOPICS.id)
            .setRequestApiVersion(ApiKeys.CREATE_TOPICS.latestVersion());
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
    }

    /** Sets a field that only later releases have. */
    private static void set(Object of, String name, Class<?> type, Object value) throws ReflectiveOperationException {
        for (Method method : of.getClass().getMethods()) {
            if (method.getName().equals(name)) method.invoke(of, value);
        }
    }

    /** A method that gained a parameter, which is false. */
    private static Object call(Object of, String name, Object... given) throws Exception {
        for (Method method : of.getClass().getDeclaredMethods()) {
            if (!method.getName().equals(name)) continue;
            Object[] all = Arrays.copyOf(given, method.getParameterCount());
            Arrays.fill(all, given.length, all.length, false);
            try {
                return method.invoke(of, all);
            } catch (java.lang.reflect.InvocationTargetException e) {
                throw (Exception) e.getCause();
            }
        }
        throw new NoSuchMethodException(name);
    }
}
