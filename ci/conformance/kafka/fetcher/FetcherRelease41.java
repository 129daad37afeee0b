package kafka.server;

import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;

/** A fetcher of 4.1 and later that counts what it would append. */
final class FetcherRelease extends AbstractFetcherThread {
    int appended = 0;
    long end = 0;

    FetcherRelease(FetcherDriver.Stub leader) {
        super("fetcher", "client", leader.as(LeaderEndPoint.class), new FailedPartitions(), null, 1000, true,
            new BrokerTopicStats());
    }

    @Override
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
    public Optional<Integer> latestEpoch(TopicPartition partition) {
        return Optional.of(FetcherDriver.EPOCH);
    }

    @Override
    public Optional<OffsetAndEpoch> endOffsetForEpoch(TopicPartition partition, int epoch) {
        return Optional.empty();
    }

    /** Asked by 4.4.0 and later only. */
    public boolean shouldFetchFromLastTieredOffset(TopicPartition partition, long leaderEnd, long replicaEnd) {
        return false;
    }
}
