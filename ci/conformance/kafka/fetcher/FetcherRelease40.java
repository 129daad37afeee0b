package kafka.server;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;

/** A fetcher of 4.0 that counts what it would append. */
final class FetcherRelease extends AbstractFetcherThread {
    int appended = 0;
    long end = 0;

    FetcherRelease(FetcherDriver.Stub leader) {
        super("fetcher", "client", leader.as(LeaderEndPoint.class), new FailedPartitions(), null, 1000, true,
            new BrokerTopicStats());
    }

    /** As 4.0.0 has it, which does not know the epoch of the request. */
    public Option<LogAppendInfo> processPartitionData(
        TopicPartition partition, long fetchOffset, FetchResponseData.PartitionData data
    ) {
        appended++;
        return Option.empty();
    }

    /** As 4.0.1 and later have it. */
    public Option<LogAppendInfo> processPartitionData(
        TopicPartition partition, long fetchOffset, int epoch, FetchResponseData.PartitionData data
    ) {
        appended++;
        return Option.empty();
    }

    @Override
    public void truncate(TopicPartition partition, OffsetTruncationState state) { }

    @Override
    public void truncateFullyAndStartAt(TopicPartition partition, long offset) { }

    @Override
    public long logStartOffset(TopicPartition partition) {
        return 0;
    }

    @Override
    public long logEndOffset(TopicPartition partition) {
        return end;
    }

    @Override
    public Option<Object> latestEpoch(TopicPartition partition) {
        return Option.apply(FetcherDriver.EPOCH);
    }

    @Override
    public Option<OffsetAndEpoch> endOffsetForEpoch(TopicPartition partition, int epoch) {
        return Option.empty();
    }
}
