import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionRequestDataJsonConverter;
import org.apache.kafka.common.message.AlterPartitionResponseDataJsonConverter;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Answers requests about a cluster with Kafka's own clients: a line of JSON each, on standard input and output.
 *
 * A request names itself in "request" and the brokers to ask in "bootstrap". Its answer is {"answer": ...}, or
 * {"error": class, "message": text} where Kafka refuses it.
 */
public final class ClusterAdmin {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int TIMEOUT_MS = 30_000;
    private static final Map<Long, Future<RecordMetadata>> SENT = new TreeMap<>(); // records by number, not asked of yet
    private static final List<KafkaProducer<?, ?>> OPEN = new ArrayList<>(); // their producers
    private static final Set<Long> ACKNOWLEDGED = new HashSet<>(); // the numbers of acknowledged records
    private static long numbered = 0;

    private ClusterAdmin() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // what a library prints is no answer
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(reply(JSON.readTree(line))));
            answers.flush();
        }
    }

    private static Map<String, Object> reply(JsonNode request) throws Exception {
        try (Admin admin = Admin.create(settings(request))) {
            Map<String, Object> answer = new HashMap<>();
            answer.put("answer", answer(admin, request));
            return answer;
        } catch (ExecutionException refused) {
            Throwable cause = refused.getCause();
            return Map.of("error", cause.getClass().getSimpleName(), "message", String.valueOf(cause.getMessage()));
        }
    }

    private static Map<String, Object> settings(JsonNode request) {
        Map<String, Object> settings = new HashMap<>();
        String asked = request.has("controllers") ? "controllers" : "bootstrap";
        settings.put(request.has("controllers") ? "bootstrap.controllers" : "bootstrap.servers", request.get(asked).asText());
        settings.put("default.api.timeout.ms", TIMEOUT_MS);
        settings.put("request.timeout.ms", TIMEOUT_MS / 2);
        return settings;
    }

    private static Object answer(Admin admin, JsonNode request) throws Exception {
        String name = request.get("request").asText();
        return switch (name) {
            case "create" -> done(admin.createTopics(List.of(newTopic(request))).all());
            case "delete" -> done(admin.deleteTopics(List.of(topic(request))).all());
            case "add partitions" -> done(admin.createPartitions(Map.of(topic(request), newPartitions(request))).all());
            case "configure" -> done(configure(admin, request));
            case "reassign" -> done(reassign(admin, request));
            case "move" -> done(move(admin, request));
            case "elect" -> done(elect(admin, request));
            case "unregister" -> done(admin.unregisterBroker(request.get("broker").asInt()).all());
            case "feature" -> done(feature(admin, request));
            case "describe" -> describe(admin, topic(request));
            case "topics" -> admin.listTopics().names().get();
            case "reassignments" -> reassignments(admin);
            case "quorum" -> quorum(admin);
            case "brokers" -> admin.describeCluster().nodes().get().stream().map(Node::id).sorted().toList();
            case "end offset" -> endOffset(admin, partition(request));
            case "alter partition" -> alterPartition(request);
            case "send" -> send(request);
            case "sent" -> sent();
            case "consume" -> consume(request);
            default -> throw new IllegalArgumentException("no request " + name);
        };
    }

    private static Object done(Future<?> future) throws Exception {
        future.get(2 * TIMEOUT_MS, TimeUnit.MILLISECONDS);
        return true;
    }

    private static String topic(JsonNode request) {
        return request.get("topic").asText();
    }

    private static TopicPartition partition(JsonNode request) {
        return new TopicPartition(topic(request), request.get("partition").asInt());
    }

    private static List<Integer> ids(JsonNode list) {
        List<Integer> ids = new ArrayList<>();
        list.forEach(id -> ids.add(id.asInt()));
        return ids;
    }

    private static NewTopic newTopic(JsonNode request) {
        Map<Integer, List<Integer>> assignment = new HashMap<>();
        for (JsonNode replicas : request.get("assignment")) {
            assignment.put(assignment.size(), ids(replicas));
        }
        Map<String, String> configs = new HashMap<>();
        request.get("configs").properties().forEach(one -> configs.put(one.getKey(), one.getValue().asText()));
        return new NewTopic(topic(request), assignment).configs(configs);
    }

    private static NewPartitions newPartitions(JsonNode request) {
        List<List<Integer>> assignment = new ArrayList<>();
        request.get("assignment").forEach(replicas -> assignment.add(ids(replicas)));
        int total = request.get("total").asInt();
        return assignment.isEmpty() ? NewPartitions.increaseTo(total) : NewPartitions.increaseTo(total, assignment);
    }

    private static Future<?> configure(Admin admin, JsonNode request) {
        ConfigResource.Type type = ConfigResource.Type.valueOf(request.get("kind").asText());
        List<AlterConfigOp> operations = new ArrayList<>();
        request.get("configs").properties().forEach(one -> operations.add(new AlterConfigOp(
            new ConfigEntry(one.getKey(), one.getValue().isNull() ? null : one.getValue().asText()),
            one.getValue().isNull() ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET)));
        ConfigResource resource = new ConfigResource(type, request.get("name").asText());
        return admin.incrementalAlterConfigs(Map.of(resource, operations)).all();
    }

    private static Future<?> reassign(Admin admin, JsonNode request) {
        JsonNode replicas = request.get("replicas");
        Optional<NewPartitionReassignment> target =
            replicas.isNull() ? Optional.empty() : Optional.of(new NewPartitionReassignment(ids(replicas)));
        return admin.alterPartitionReassignments(Map.of(partition(request), target)).all();
    }

    private static Future<?> move(Admin admin, JsonNode request) {
        TopicPartition partition = partition(request);
        var replica = new TopicPartitionReplica(partition.topic(), partition.partition(), request.get("broker").asInt());
        return admin.alterReplicaLogDirs(Map.of(replica, request.get("directory").asText())).all();
    }

    private static Future<?> elect(Admin admin, JsonNode request) {
        return admin.electLeaders(ElectionType.valueOf(request.get("kind").asText()), Set.of(partition(request))).all();
    }

    private static Future<?> feature(Admin admin, JsonNode request) {
        FeatureUpdate.UpgradeType kind = FeatureUpdate.UpgradeType.valueOf(request.get("kind").asText());
        FeatureUpdate update = new FeatureUpdate((short) request.get("level").asInt(), kind);
        return admin.updateFeatures(Map.of(request.get("name").asText(), update), new UpdateFeaturesOptions()).all();
    }

    /** Sends a controller an AlterPartition, as brokers do; what it answers. */
    private static JsonNode alterPartition(JsonNode request) throws Exception {
        short version = ApiKeys.ALTER_PARTITION.latestVersion();
        var header = new RequestHeader(ApiKeys.ALTER_PARTITION, version, "", 0);
        var data = AlterPartitionRequestDataJsonConverter.read(request.get("data"), version);
        ByteBuffer sent = new AlterPartitionRequest(data, version).serializeWithHeader(header);
        String[] address = request.get("controllers").asText().split(":");
        try (var socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            var out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(sent.remaining());
            out.write(sent.array(), sent.arrayOffset() + sent.position(), sent.remaining());
            var in = new DataInputStream(socket.getInputStream());
            ByteBuffer answer = ByteBuffer.wrap(in.readNBytes(in.readInt()));
            var response = (AlterPartitionResponse) AbstractResponse.parseResponse(answer, header);
            return AlterPartitionResponseDataJsonConverter.write(response.data(), version);
        }
    }

    private static List<Map<String, Object>> describe(Admin admin, String topic) throws Exception {
        List<Map<String, Object>> partitions = new ArrayList<>();
        for (TopicPartitionInfo one : admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()) {
            Map<String, Object> row = new TreeMap<>();
            row.put("partition", one.partition());
            row.put("leader", one.leader() == null || one.leader().isEmpty() ? -1 : one.leader().id());
            row.put("replicas", nodes(one.replicas()));
            row.put("isr", nodes(one.isr()));
            row.put("elr", nodes(one.elr()));
            row.put("last_known", nodes(one.lastKnownElr()));
            partitions.add(row);
        }
        return partitions;
    }

    private static List<Integer> nodes(List<Node> nodes) {
        return nodes == null ? List.of() : nodes.stream().map(Node::id).toList();
    }

    private static List<Map<String, Object>> reassignments(Admin admin) throws Exception {
        List<Map<String, Object>> rows = new ArrayList<>();
        admin.listPartitionReassignments().reassignments().get().forEach((partition, one) -> rows.add(Map.of(
            "topic", partition.topic(), "partition", partition.partition(), "replicas", one.replicas(),
            "adding", one.addingReplicas(), "removing", one.removingReplicas())));
        return rows;
    }

    private static Map<String, Object> quorum(Admin admin) throws Exception {
        var quorum = admin.describeMetadataQuorum().quorumInfo().get();
        return Map.of("leader", quorum.leaderId(), "epoch", quorum.leaderEpoch());
    }

    private static long endOffset(Admin admin, TopicPartition partition) throws Exception {
        return admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset();
    }

    /** Sends records to one partition with acks=all, each with a value of its own; what comes of them is asked later. */
    private static boolean send(JsonNode request) throws Exception {
        Map<String, Object> settings = settings(request);
        settings.put("acks", "all");
        settings.put("enable.idempotence", false); // ids of producers come from nodes that may stand still
        settings.put("delivery.timeout.ms", request.get("timeout_ms").asInt());
        settings.put("request.timeout.ms", request.get("timeout_ms").asInt() / 2);
        settings.put("max.block.ms", request.get("timeout_ms").asInt());
        var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        for (int i = 0; i < request.get("records").asInt(); i++) {
            long number = numbered++;
            byte[] value = ByteBuffer.allocate(request.get("size").asInt()).putLong(number).array();
            SENT.put(number, producer.send(new ProducerRecord<>(topic(request), partition(request).partition(), null, value)));
            Thread.sleep(request.get("pause_ms").asInt());
        }
        OPEN.add(producer);
        return true;
    }

    /** Of the records that were sent since it was asked last, how many are acknowledged, and the errors of the others. */
    private static Map<String, Object> sent() throws Exception {
        int before = ACKNOWLEDGED.size();
        Map<String, Integer> errors = new TreeMap<>();
        for (var one : SENT.entrySet()) {
            try {
                one.getValue().get();
                ACKNOWLEDGED.add(one.getKey());
            } catch (ExecutionException failed) {
                errors.merge(failed.getCause().getClass().getSimpleName(), 1, Integer::sum);
            }
        }
        SENT.clear();
        OPEN.forEach(KafkaProducer::close);
        OPEN.clear();
        return Map.of("acknowledged", ACKNOWLEDGED.size() - before, "errors", errors);
    }

    /** How many different acknowledged records of a partition a consumer can read, from the earliest to the end. */
    private static int consume(JsonNode request) {
        TopicPartition partition = partition(request);
        Set<Long> read = new HashSet<>();
        try (var consumer = new KafkaConsumer<>(settings(request), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            long stop = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MS);
            while (consumer.position(partition) < end && System.nanoTime() < stop) {
                consumer.poll(Duration.ofSeconds(1)).forEach(one -> read.add(ByteBuffer.wrap(one.value()).getLong()));
            }
        }
        read.retainAll(ACKNOWLEDGED);
        return read.size();
    }
}
