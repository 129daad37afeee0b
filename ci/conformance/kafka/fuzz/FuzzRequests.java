package org.apache.kafka.controller;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignablePartition;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData.ReassignableTopic;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.AssignReplicasToDirsRequestData;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsAssignment;
import org.apache.kafka.common.message.CreatePartitionsRequestData.CreatePartitionsTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableReplicaAssignment;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopicConfig;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;

/** The requests about topics and partitions, from their words; lists are separated by commas, rows by semicolons. */
final class FuzzRequests {
    private FuzzRequests() { }

    static FuzzDriver.Decision decide(String[] words, ReplicationControlManager replication, List<Uuid> topics)
            throws Throwable {
        switch (words[0]) {
            case "create": return create(words, replication);
            case "delete": return delete(words, replication, topics);
            case "grow": return grow(words, replication);
            case "alter": return alter(words, replication, topics);
            case "reassign": return reassign(words, replication);
            case "elect": return elect(words, replication);
            case "assign": return assign(words, replication, topics);
            case "list": return list(words, replication);
            default: throw new IllegalArgumentException("unknown request " + words[0]);
        }
    }

    static List<Uuid> directories(String text) {
        List<Uuid> result = new ArrayList<>();
        for (String number : split(text, ",")) result.add(directory(Long.parseLong(number)));
        return result;
    }

    /** The directory of a number, in the order of numbers; others have one half in common with it. Reserved are those below 100. */
    static Uuid directory(long number) {
        return number < 100 ? new Uuid(0, number) : new Uuid(number / 2, number % 2);
    }

    /** The number of a directory. */
    static long number(Uuid directory) {
        long half = directory.getMostSignificantBits(), other = directory.getLeastSignificantBits();
        return 2 * half + other;
    }

    private static String[] split(String text, String by) {
        return text.equals("-") ? new String[0] : text.split(by);
    }

    private static List<Integer> ids(String text) {
        List<Integer> result = new ArrayList<>();
        for (String id : split(text.equals("none") ? "-" : text, ",")) result.add(Integer.parseInt(id));
        return result;
    }

    private static Uuid topic(String number, List<Uuid> topics) {
        int known = Integer.parseInt(number);
        return known < topics.size() ? topics.get(known) : new Uuid(9, known);
    }

    /** The last of the rows where the next belongs to it, else another one: so do clients put theirs together. */
    private static <T> T joining(List<T> rows, Predicate<T> same, T another) {
        if (rows.isEmpty() || !same.test(rows.get(rows.size() - 1))) rows.add(another);
        return rows.get(rows.size() - 1);
    }

    private static String error(short code) {
        return Errors.forCode(code).name();
    }

    private static ControllerRequestContext context(ApiKeys key) {
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id)
            .setRequestApiVersion(key.latestVersion());
        return new ControllerRequestContext(header, KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
    }

    private static FuzzDriver.Decision create(String[] words, ReplicationControlManager replication) throws Throwable {
        CreatableTopic topic = new CreatableTopic().setName(words[1]).setNumPartitions(Integer.parseInt(words[2]))
            .setReplicationFactor(Short.parseShort(words[3]));
        int index = Integer.parseInt(words[6]);
        for (String replicas : split(words[4], ";")) {
            topic.assignments().add(new CreatableReplicaAssignment().setPartitionIndex(index).setBrokerIds(ids(replicas)));
            index += Integer.parseInt(words[7]);
        }
        for (String config : split(words[5], ",")) {
            String[] pair = config.split("=");
            topic.configs().add(new CreatableTopicConfig().setName(pair[0]).setValue(pair[1]));
        }
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(topic);
        var result = (ControllerResult<?>) ControlManagers.call(replication, "createTopics",
            context(ApiKeys.CREATE_TOPICS), request, Set.of());
        var row = ((CreateTopicsResponseData) result.response()).topics().find(words[1]);
        return new FuzzDriver.Decision(error(row.errorCode()), result);
    }

    private static FuzzDriver.Decision delete(String[] words, ReplicationControlManager replication, List<Uuid> topics) {
        Uuid id = topic(words[1], topics);
        var result = replication.deleteTopics(context(ApiKeys.DELETE_TOPICS), List.of(id));
        return new FuzzDriver.Decision(result.response().get(id).error().name(), result);
    }

    static FuzzDriver.Decision grow(String[] words, ReplicationControlManager replication) {
        CreatePartitionsTopic topic = new CreatePartitionsTopic().setName(words[1]).setCount(Integer.parseInt(words[2]))
            .setAssignments(null);
        if (!words[3].equals("-")) {
            List<CreatePartitionsAssignment> given = new ArrayList<>();
            for (String replicas : split(words[3], ";")) {
                given.add(new CreatePartitionsAssignment().setBrokerIds(ids(replicas)));
            }
            topic.setAssignments(given);
        }
        var result = replication.createPartitions(context(ApiKeys.CREATE_PARTITIONS), List.of(topic));
        return new FuzzDriver.Decision(error(result.response().get(0).errorCode()), result);
    }

    /** Words: broker, its epoch, then rows of topic, index, leader epoch, partition epoch, recovery state, members. */
    static FuzzDriver.Decision alter(String[] words, ReplicationControlManager replication, List<Uuid> topics) {
        AlterPartitionRequestData request = new AlterPartitionRequestData()
            .setBrokerId(Integer.parseInt(words[1])).setBrokerEpoch(Long.parseLong(words[2]));
        for (String text : words[3].split(";")) {
            String[] row = text.split("/");
            List<AlterPartitionRequestData.BrokerState> wanted = new ArrayList<>();
            for (String member : split(row[5], ",")) {
                String[] pair = member.split(":");
                wanted.add(new AlterPartitionRequestData.BrokerState().setBrokerId(Integer.parseInt(pair[0]))
                    .setBrokerEpoch(Long.parseLong(pair[1])));
            }
            Uuid id = topic(row[0], topics);
            joining(request.topics(), one -> one.topicId().equals(id), new AlterPartitionRequestData.TopicData().setTopicId(id))
                .partitions().add(new AlterPartitionRequestData.PartitionData()
                    .setPartitionIndex(Integer.parseInt(row[1])).setLeaderEpoch(Integer.parseInt(row[2]))
                    .setPartitionEpoch(Integer.parseInt(row[3])).setLeaderRecoveryState(Byte.parseByte(row[4]))
                    .setNewIsrWithEpochs(wanted));
        }
        var result = replication.alterPartition(context(ApiKeys.ALTER_PARTITION), request);
        String reply = result.response().topics().stream().flatMap(row -> row.partitions().stream())
            .map(FuzzRequests::altered).collect(Collectors.joining(","));
        return new FuzzDriver.Decision(reply, result);
    }

    /** The error, and without one the partition as the leader is told it is. */
    private static String altered(AlterPartitionResponseData.PartitionData row) {
        if (row.errorCode() != 0) return error(row.errorCode());
        return String.join("=", "NONE", String.valueOf(row.leaderId()), String.valueOf(row.leaderEpoch()), joined(row.isr()),
            String.valueOf(row.leaderRecoveryState()), String.valueOf(row.partitionEpoch()));
    }

    private static String joined(List<Integer> members) {
        return members.stream().map(String::valueOf).collect(Collectors.joining("+"));
    }

    /** Words: rows of topic and index, or `all`. */
    static FuzzDriver.Decision list(String[] words, ReplicationControlManager replication) {
        List<ListPartitionReassignmentsTopics> asked = words[1].equals("all") ? null : new ArrayList<>();
        for (String text : split(asked == null ? "-" : words[1], ";")) {
            String[] row = text.split("/");
            asked.add(new ListPartitionReassignmentsTopics().setName(row[0])
                .setPartitionIndexes(List.of(Integer.parseInt(row[1]))));
        }
        Set<String> rows = new TreeSet<>();
        replication.listPartitionReassignments(asked, Long.MAX_VALUE).topics().forEach(topic ->
            topic.partitions().forEach(row -> rows.add(topic.name() + "/" + row.partitionIndex() + "="
                + joined(row.removingReplicas()) + "/" + joined(row.addingReplicas()) + "/" + joined(row.replicas()))));
        return new FuzzDriver.Decision(String.join(",", rows));
    }

    /** Words: rows of topic, index, and replicas or `cancel`; then whether the replication factor may change. */
    static FuzzDriver.Decision reassign(String[] words, ReplicationControlManager replication)
            throws ReflectiveOperationException {
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData();
        if (words[2].equals("same-factor")) {
            ControlManagers.set(request, "setAllowReplicationFactorChange", boolean.class, false);
        }
        for (String text : words[1].split(";")) {
            String[] row = text.split("/");
            ReassignablePartition wanted = new ReassignablePartition().setPartitionIndex(Integer.parseInt(row[1]))
                .setReplicas(row[2].equals("cancel") ? null : ids(row[2]));
            joining(request.topics(), one -> one.name().equals(row[0]), new ReassignableTopic().setName(row[0]))
                .partitions().add(wanted);
        }
        var result = replication.alterPartitionReassignments(request);
        String reply = result.response().responses().stream().flatMap(row -> row.partitions().stream())
            .map(row -> error(row.errorCode())).collect(Collectors.joining(","));
        return new FuzzDriver.Decision(reply, result);
    }

    /** Words: the type, then rows of topic and index, or `all`. */
    static FuzzDriver.Decision elect(String[] words, ReplicationControlManager replication) {
        ElectLeadersRequestData request = new ElectLeadersRequestData().setElectionType(Byte.parseByte(words[1]));
        if (words[2].equals("all")) {
            request.setTopicPartitions(null);
        } else {
            for (String text : words[2].split(";")) {
                String[] row = text.split("/");
                var known = request.topicPartitions().find(row[0]);
                if (known == null) request.topicPartitions().add(known = new ElectLeadersRequestData.TopicPartitions().setTopic(row[0]));
                known.partitions().add(Integer.parseInt(row[1]));
            }
        }
        var result = replication.electLeaders(request);
        Set<String> rows = new TreeSet<>();
        result.response().replicaElectionResults().forEach(topic -> topic.partitionResult().forEach(row ->
            rows.add(topic.topic() + "/" + row.partitionId() + "=" + error(row.errorCode()))));
        return new FuzzDriver.Decision(String.join(",", rows), result);
    }

    /** Words: broker, its epoch, then rows of directory, topic, index. */
    static FuzzDriver.Decision assign(String[] words, ReplicationControlManager replication, List<Uuid> topics) {
        AssignReplicasToDirsRequestData request = new AssignReplicasToDirsRequestData()
            .setBrokerId(Integer.parseInt(words[1])).setBrokerEpoch(Long.parseLong(words[2]));
        for (String text : words[3].split(";")) {
            String[] row = text.split("/");
            Uuid directory = directory(Long.parseLong(row[0])), id = topic(row[1], topics);
            var rows = joining(request.directories(), one -> one.id().equals(directory),
                new AssignReplicasToDirsRequestData.DirectoryData().setId(directory)).topics();
            joining(rows, one -> one.topicId().equals(id), new AssignReplicasToDirsRequestData.TopicData().setTopicId(id))
                .partitions().add(new AssignReplicasToDirsRequestData.PartitionData()
                    .setPartitionIndex(Integer.parseInt(row[2])));
        }
        var result = replication.handleAssignReplicasToDirs(request);
        String reply = result.response().directories().stream().flatMap(row -> row.topics().stream())
            .flatMap(row -> row.partitions().stream()).map(row -> error(row.errorCode())).collect(Collectors.joining(","));
        return new FuzzDriver.Decision(reply, result);
    }
}
