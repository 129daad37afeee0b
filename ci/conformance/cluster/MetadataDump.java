import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.LeaderChangeMessageJsonConverter;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Prints segments of a metadata log in the form of Kafka's dump tool, each record decoded by the release's own classes.
 *
 * That tool is not published for each release, and the classes that read batches change their package; so batches of
 * format 2, without compression, are taken apart here. A batch that is not yet written whole ends a segment.
 */
public final class MetadataDump {
    private static final int HEADER = 61, UP_TO_LENGTH = 12, CHECKED_FROM = 21, CONTROL = 0x20, COMPRESSED = 0x07;
    private static final int LEADER_CHANGE = 2;

    private MetadataDump() {}

    public static void main(String[] segments) throws Exception {
        for (String segment : segments) {
            Path path = Path.of(segment);
            System.out.println("Dumping " + path.getFileName());
            System.out.println("Log starting offset: " + Long.parseLong(path.getFileName().toString().split("[-.]")[0]));
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path));
            while (bytes.remaining() >= HEADER && bytes.remaining() >= UP_TO_LENGTH + length(bytes)) {
                int next = bytes.position() + UP_TO_LENGTH + length(bytes);
                batch(bytes, next);
                bytes.position(next);
            }
        }
    }

    private static int length(ByteBuffer bytes) {
        return bytes.getInt(bytes.position() + 8);
    }

    private static void batch(ByteBuffer bytes, int end) {
        int start = bytes.position();
        long base = bytes.getLong(start);
        int attributes = bytes.getShort(start + CHECKED_FROM), count = bytes.getInt(start + 57);
        if (bytes.get(start + 16) != 2 || (attributes & COMPRESSED) != 0) {
            throw new IllegalArgumentException("offset " + base + ": not a batch of format 2 without compression");
        }
        CRC32C sum = new CRC32C();
        sum.update(bytes.array(), start + CHECKED_FROM, end - start - CHECKED_FROM);
        boolean control = (attributes & CONTROL) != 0, valid = (int) sum.getValue() == bytes.getInt(start + 17);
        System.out.printf("baseOffset: %d lastOffset: %d count: %d partitionLeaderEpoch: %d isControl: %b position: %d "
            + "CreateTime: %d size: %d isvalid: %b%n", base, base + bytes.getInt(start + 23), count,
            bytes.getInt(start + 12), control, start, bytes.getLong(start + 35), end - start, valid);
        bytes.position(start + HEADER);
        for (int i = 0; i < count; i++) {
            record(bytes, base, control);
        }
    }

    private static void record(ByteBuffer bytes, long base, boolean control) {
        int end = (int) varlong(bytes) + bytes.position();
        bytes.get(); // attributes
        varlong(bytes); // time since the batch's
        long offset = base + (int) varlong(bytes);
        ByteBuffer key = slice(bytes), value = slice(bytes);
        System.out.println("| offset: " + offset + " " + (control ? controlText(key, value) : "payload: " + payload(value)));
        bytes.position(end);
    }

    /** A number in groups of seven bits, lowest first, with the sign in the lowest bit. */
    private static long varlong(ByteBuffer bytes) {
        long value = 0;
        int shift = 0;
        byte group;
        do {
            group = bytes.get();
            value |= (long) (group & 0x7f) << shift;
            shift += 7;
        } while (group < 0);
        return (value >>> 1) ^ -(value & 1);
    }

    private static ByteBuffer slice(ByteBuffer bytes) {
        int size = Math.max((int) varlong(bytes), 0);
        ByteBuffer part = bytes.slice(bytes.position(), size);
        bytes.position(bytes.position() + size);
        return part;
    }

    private static String controlText(ByteBuffer key, ByteBuffer value) {
        key.getShort(); // version
        int type = key.getShort();
        if (type != LEADER_CHANGE) {
            return "controlType: CONTROL(" + type + ")";
        }
        short version = value.getShort(0);
        LeaderChangeMessage message = new LeaderChangeMessage(new ByteBufferAccessor(value), version);
        return "LeaderChange: " + LeaderChangeMessageJsonConverter.write(message, version);
    }

    private static ObjectNode payload(ByteBuffer value) {
        ApiMessageAndVersion record = MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(value), value.remaining());
        ObjectNode node = new ObjectNode(JsonNodeFactory.instance);
        node.put("type", MetadataRecordType.fromId(record.message().apiKey()).toString());
        node.put("version", record.version());
        node.set("data", MetadataJsonConverters.writeJson(record.message(), record.version()));
        return node;
    }
}
