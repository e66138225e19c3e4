"""A rosbag2 recording of one MCAP file that is written from raw messages, and its index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import yaml
from mcap.records import Attachment
from mcap.writer import CompressionType, Writer
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.metadata import dump_qos_v9, parse_qos

from impact_aware.bags.bag_parts import LARGEST_QOS
from impact_aware.bags.raw_messages import Extra, RawMessage, RawTopic


class McapCopy:
    """An MCAP file that is being written, and the index of the recording that consists of it."""

    def __init__(self, stream: BinaryIO, name: str, hashes: Mapping[str, str]) -> None:
        """Begin the file.

        Args:
            stream: Takes its bytes.
            name: Of the file, for the index.
            hashes: Hash of each message type, by its name, as far as known.
        """
        self._name = name
        self._hashes = hashes
        self._writer = Writer(stream, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2")
        self._schemas: dict[tuple[str, str, bytes], int] = {}
        self._channels: dict[RawTopic, int] = {}
        self._counts: dict[int, int] = {}
        self._first: int | None = None
        self._last = 0

    def add_all(self, records: Iterable[RawMessage | Extra]) -> None:
        """Write records until there are no more."""
        for record in records:
            if isinstance(record, RawMessage):
                self._add(record)
            elif isinstance(record, Attachment):
                self._writer.add_attachment(
                    record.create_time, record.log_time, record.name, record.media_type, record.data
                )
            elif record.name != "rosbag2":
                # The source's own index; the copy has another.
                self._writer.add_metadata(record.name, dict(record.metadata))

    def finish(self, remarks: dict[str, str]) -> None:
        """Write the indexes."""
        self._writer.add_metadata("impact_aware", remarks)
        serialised = yaml.safe_dump(self.index()["rosbag2_bagfile_information"], sort_keys=False)
        self._writer.add_metadata("rosbag2", {"serialized_metadata": serialised})
        self._writer.finish()

    def index(self) -> dict[str, Any]:
        """Content of `metadata.yaml`, version 9 of rosbag2's format."""
        begin = self._first or 0
        count = sum(self._counts.values())

        def span() -> dict[str, Any]:
            return {
                "starting_time": {"nanoseconds_since_epoch": begin},
                "duration": {"nanoseconds": self._last - begin},
                "message_count": count,
            }

        return {
            "rosbag2_bagfile_information": {
                "version": 9,
                "storage_identifier": "mcap",
                **span(),
                "relative_file_paths": [self._name],
                "topics_with_message_count": [
                    {
                        "topic_metadata": {
                            "name": topic.name,
                            "type": topic.type,
                            "serialization_format": topic.encoding,
                            "offered_qos_profiles": _qos(topic),
                            "type_description_hash": topic.metadata.get("topic_type_hash")
                            or self._hashes.get(topic.type, ""),
                        },
                        "message_count": self._counts.get(channel, 0),
                    }
                    for topic, channel in self._channels.items()
                ],
                "compression_format": "",
                "compression_mode": "",
                "files": [{"path": self._name, **span()}],
                "custom_data": None,
                "ros_distro": "unknown",
            }
        }

    def _add(self, message: RawMessage) -> None:
        channel = self._channel(message.topic)
        self._writer.add_message(channel, message.recorded, message.data, message.published, message.sequence)
        self._counts[channel] = self._counts.get(channel, 0) + 1
        self._first = message.recorded if self._first is None else min(self._first, message.recorded)
        self._last = max(self._last, message.recorded)

    def _channel(self, topic: RawTopic) -> int:
        if topic not in self._channels:
            schema = (topic.type, topic.definition_format, topic.definition)
            if schema not in self._schemas:
                self._schemas[schema] = self._writer.register_schema(
                    topic.type, topic.definition_format, topic.definition
                )
            self._channels[topic] = self._writer.register_channel(
                topic.name, topic.encoding, self._schemas[schema], topic.metadata
            )
        return self._channels[topic]


def _qos(topic: RawTopic) -> list[Any]:
    """What the publishers offered, so that a replay offers it again; none where it can't be read."""
    text = topic.metadata.get("offered_qos_profiles", "")
    try:
        return list(dump_qos_v9(parse_qos(text))) if len(text) <= LARGEST_QOS else []
    except (ReaderError, KeyError, TypeError, ValueError):
        return []
