package org.apache.kafka.controller;

import java.util.List;
import org.apache.kafka.common.metadata.AbortTransactionRecord;
import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** A controller that becomes active while the first transaction of its log is open (KIP-868). */
public final class Activation {
    private final List<ApiMessageAndVersion> written;

    /** The log has the beginning of the transaction, and the level of metadata.version in it, or not yet. */
    public Activation(boolean named) throws ReflectiveOperationException {
        ControlManagers managers = new ControlManagers(Time.SYSTEM, TourRelease.supportedFeatures(), null);
        OffsetControlManager offsets = new OffsetControlManager.Builder().setSnapshotRegistry(managers.snapshots).build();
        MetadataVersion version = MetadataVersion.latestProduction();
        offsets.replay(new BeginTransactionRecord().setName("Bootstrap records"), 0);
        if (named) {
            managers.features.replay(new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME)
                .setFeatureLevel(version.featureLevel()));
        }
        written = ActivationRecordsGenerator.generate(line -> { }, offsets.transactionStartOffset(),
            BootstrapMetadata.fromVersion(version, "driver"), managers.features.metadataVersion(), 1).records();
    }

    /** Whether it aborts the transaction. */
    public boolean aborts() {
        return written.stream().anyMatch(record -> record.message() instanceof AbortTransactionRecord);
    }

    /** Whether it names a level. */
    public boolean names() {
        return written.stream().anyMatch(record -> record.message() instanceof FeatureLevelRecord level
            && level.name().equals(MetadataVersion.FEATURE_NAME));
    }
}
