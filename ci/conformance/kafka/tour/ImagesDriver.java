package org.apache.kafka.controller;

import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.LocalReplicaChanges;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicDelta;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.image.TopicsDelta;
import org.apache.kafka.image.TopicsImage;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.image.writer.UnwritableMetadataException;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Joins records to a broker's image of the metadata: rows of 32-bit ints in, rows of 32-bit ints out.
 *
 * Arguments: the number of topics, LEADS or FOLLOWS for what the broker is where it is a replica, and a name for each
 * action code. A row is whether a broker begins anew, the action and its argument, and all that the records before it
 * say. Columns are described in tour/images.py.
 */
public final class ImagesDriver {
    static final int ME = 1;
    static final int ANOTHER = 0;
    static final int ELIGIBLE = 2;
    static final int NOBODY = -1;
    static final int FOLLOWER = 1;
    static final int LEADER = 2;
    static final int WRITTEN = 1;
    static final int REFUSED = 2;
    static final int ALTERED = 3;
    static final int BITS = 4;
    static final int TOPICS = 5;
    static final String NAME = "foo";
    static final String ELR_FEATURE = "eligible.leader.replicas.version";
    static final MetadataVersion WITHOUT_DIRECTORIES = MetadataVersion.IBP_3_6_IV2;

    private final int topics;
    private final boolean leads;
    private MetadataImage image;
    private MetadataDelta delta;
    private boolean failed;

    private ImagesDriver(int topics, boolean leads) {
        this.topics = topics;
        this.leads = leads;
    }

    public static void main(String[] args) throws Exception {
        int topics = Integer.parseInt(args[0]);
        ImagesDriver driver = new ImagesDriver(topics, args[1].equals("LEADS"));
        String[] actions = Arrays.copyOfRange(args, 2, args.length);
        int inputs = TOPICS + BITS * topics;
        int outputs = 5 + topics * (2 * BITS + 4);
        DriverRows.each(inputs, outputs, given -> driver.step(given, actions[given[1]], outputs));
    }

    /** The records that everything up to now comes to, with ELR on or off. */
    private static List<ApiMessage> everything(int[] row, int topics, boolean leads) {
        List<ApiMessage> records = new ArrayList<>(features(row[3] != 0, row[4] != 0));
        for (int n = 0; n < topics; n++) {
            int at = TOPICS + BITS * n;
            if (row[at] != 0) records.addAll(topic(n, row[at + 1] != 0, row[at + 2] != 0, row[at + 3] != 0, leads));
        }
        return records;
    }

    /** The snapshot that Kafka writes of an image which has read everything. */
    private static List<ApiMessage> snapshot(int[] row, int topics, boolean leads) {
        MetadataDelta read = new MetadataDelta.Builder().build();
        everything(row, topics, leads).forEach(read::replay);
        MetadataImage whole = read.apply(MetadataProvenance.EMPTY);
        RecordListWriter writer = new RecordListWriter();
        whole.write(writer, new ImageWriterOptions.Builder(whole).build());
        return writer.records().stream().map(ApiMessageAndVersion::message).collect(Collectors.toList());
    }

    private static List<ApiMessage> features(boolean directories, boolean elr) {
        MetadataVersion version = directories ? MetadataVersion.latestProduction() : WITHOUT_DIRECTORIES;
        short level = (short) (elr ? 1 : 0);
        return List.of(level(MetadataVersion.FEATURE_NAME, version.featureLevel()), level(ELR_FEATURE, level));
    }

    private static FeatureLevelRecord level(String name, short level) {
        return new FeatureLevelRecord().setName(name).setFeatureLevel(level);
    }

    private static Uuid id(int number) {
        return new Uuid(1, number + 1);
    }

    private static List<Integer> replicas(boolean mine) {
        return mine ? List.of(ANOTHER, ME, ELIGIBLE) : List.of(ANOTHER, ELIGIBLE);
    }

    private static List<Uuid> unassigned(boolean mine) {
        Uuid[] each = new Uuid[replicas(mine).size()];
        Arrays.fill(each, DirectoryId.UNASSIGNED);
        return List.of(each);
    }

    private static List<ApiMessage> topic(int n, boolean mine, boolean elr, boolean unassigned, boolean leads) {
        int leader = mine && leads ? ME : ANOTHER;
        PartitionRecord partition = new PartitionRecord().setTopicId(id(n)).setPartitionId(0)
            .setReplicas(replicas(mine)).setIsr(List.of(leader)).setLeader(leader);
        if (elr) partition.setEligibleLeaderReplicas(List.of(ELIGIBLE));
        if (unassigned) partition.setDirectories(unassigned(mine));
        return List.of(new TopicRecord().setName(NAME).setTopicId(id(n)), partition);
    }

    /** The records of an action of the controller. */
    private List<ApiMessage> records(String action, int argument, int[] row) throws ReflectiveOperationException {
        int current = NOBODY;
        for (int n = 0; n < topics; n++) {
            if (row[TOPICS + BITS * n] != 0) current = n;
        }
        boolean directories = row[3] != 0;
        PartitionChangeRecord change = new PartitionChangeRecord().setTopicId(id(current)).setPartitionId(0);
        switch (action) {
            case "create":
                return topic(argument >> 1, (argument & 1) != 0, false, directories, leads);
            case "delete":
                return List.of(new RemoveTopicRecord().setTopicId(id(current)));
            case "reassign":
                boolean mine = row[TOPICS + BITS * current + 1] == 0;
                change.setReplicas(replicas(mine));
                if (directories) change.setDirectories(unassigned(mine));
                if (leads) change.setLeader(mine ? ME : ANOTHER).setIsr(List.of(mine ? ME : ANOTHER));
                return List.of(change);
            case "shrink":
                return List.of(change.setEligibleLeaderReplicas(List.of(ELIGIBLE)));
            case "clear_elr":
                Class<?> type = Class.forName("org.apache.kafka.common.metadata.ClearElrRecord");
                ApiMessage clear = (ApiMessage) type.getConstructor().newInstance();
                type.getMethod("setTopicName", String.class).invoke(clear, argument == 1 ? NAME : "");
                return List.of(clear);
            case "raise_version":
                return features(true, true).subList(0, 1);
            case "disable_elr":
                return features(true, false).subList(1, 2);
            default:
                throw new IllegalArgumentException("no records are known of " + action);
        }
    }

    private int[] step(int[] row, String action, int outputs) throws ReflectiveOperationException {
        if (row[0] != 0) begin(row[3] != 0);
        TopicsDelta joined = null;
        try {
            if (action.equals("stop")) {
                image = null;
            } else if (action.equals("publish")) {
                joined = publish();
            } else if (action.equals("load_snapshot") || action.equals("start")) {
                boolean starts = action.equals("start");
                delta = new MetadataDelta.Builder().setImage(image == null ? MetadataImage.EMPTY : image).build();
                (starts ? everything(row, topics, leads) : snapshot(row, topics, leads)).forEach(delta::replay);
                delta.finishSnapshot();
                joined = publish();
            } else {
                List<ApiMessage> records = records(action, row[2], row);
                if (image != null) records.forEach(delta::replay);
            }
        } catch (RuntimeException e) {
            failed = true;
        }
        return answer(joined, action.equals("start"), outputs);
    }

    private void begin(boolean directories) {
        failed = false;
        delta = new MetadataDelta.Builder().build();
        features(directories, true).forEach(delta::replay);
        publish();
    }

    /** The image becomes what the delta makes of it; what the delta was. */
    private TopicsDelta publish() {
        TopicsDelta joined = delta.getOrCreateTopicsDelta();
        image = delta.apply(MetadataProvenance.EMPTY);
        delta = new MetadataDelta.Builder().setImage(image).build();
        return joined;
    }

    private int[] answer(TopicsDelta joined, boolean started, int outputs) {
        IntBuffer row = IntBuffer.allocate(outputs);
        boolean tells = image != null && !failed;
        row.put(failed ? 1 : 0).put(tells && knows() ? 1 : 0).put(tells ? created() : NOBODY);
        row.put(tells && joined != null ? written() : 0);
        boolean local = tells && joined != null && !started;
        row.put(local && !joined.localChanges(ME).deletes().isEmpty() ? 1 : 0);
        for (int n = 0; n < topics; n++) {
            put(row, tells ? image.topics().getTopic(id(n)) : null);
            TopicsDelta changes = tells ? delta.getOrCreateTopicsDelta() : null;
            TopicDelta change = tells ? changes.changedTopic(id(n)) : null;
            row.put(change != null ? 1 : 0);
            row.put(change != null && change.image().partitions().containsKey(0) ? 1 : 0);
            put(row, change == null ? null : change.apply());
            row.put(tells && changes.deletedTopicIds().contains(id(n)) ? 1 : 0);
            TopicDelta done = local ? joined.changedTopic(id(n)) : null;
            row.put(done == null ? 0 : hosted(done.localChanges(ME)));
        }
        return row.array();
    }

    private boolean knows() {
        String version = String.valueOf(image.features().metadataVersion());
        boolean knows = version.contains(MetadataVersion.latestProduction().toString());
        if (!knows && !version.contains(WITHOUT_DIRECTORIES.toString()))
            throw new IllegalStateException("an image of version " + version);
        return knows;
    }

    private int created() {
        for (int n = topics - 1; n >= 0; n--) {
            if (delta.getOrCreateTopicsDelta().createdTopicIds().contains(id(n))) return n;
        }
        return NOBODY;
    }

    private static void put(IntBuffer row, TopicImage topic) {
        PartitionRegistration partition = topic == null ? null : topic.partitions().get(0);
        if (topic != null && partition == null) throw new IllegalStateException("a topic without its partition");
        row.put(topic != null ? 1 : 0);
        row.put(topic != null && Arrays.stream(partition.replicas).anyMatch(broker -> broker == ME) ? 1 : 0);
        row.put(topic != null && partition.elr.length > 0 ? 1 : 0);
        row.put(topic != null && Arrays.asList(partition.directories).contains(DirectoryId.UNASSIGNED) ? 1 : 0);
    }

    /** Whether the broker is told to make the replica, as what. */
    private static int hosted(LocalReplicaChanges changes) {
        return (changes.followers().isEmpty() ? 0 : FOLLOWER) + (changes.leaders().isEmpty() ? 0 : LEADER);
    }

    /** Whether the image can be written at its version, and read as what it is. */
    private int written() {
        RecordListWriter writer = new RecordListWriter();
        try {
            image.write(writer, new ImageWriterOptions.Builder(image).build());
        } catch (UnwritableMetadataException e) {
            return REFUSED;
        }
        MetadataDelta read = new MetadataDelta.Builder().build();
        for (ApiMessageAndVersion record : writer.records()) read.replay(record.message());
        read.finishSnapshot();
        TopicsImage topics = read.apply(MetadataProvenance.EMPTY).topics();
        return topics.topicsById().equals(image.topics().topicsById()) ? WRITTEN : ALTERED;
    }
}
