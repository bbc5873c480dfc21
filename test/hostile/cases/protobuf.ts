import { WireWriter } from '../../../src/api/schema/wire.ts';

/** Unusual protobuf bodies. */
export const protobufBody = {
  /** A ConfigMap with one entry of managedFields that contains any text. */
  configMap(name: string, fieldsV1: string): Buffer {
    const entry = message((writer) => {
      writer.string(1, 'hostile');
      writer.string(2, 'Update');
      writer.string(3, 'v1');
      writer.string(6, 'FieldsV1');
      writer.bytes(
        7,
        message((fields) => fields.string(1, fieldsV1)),
      );
    });
    const metadata = message((writer) => {
      writer.string(1, name);
      writer.bytes(17, entry);
    });
    const raw = message((writer) => writer.bytes(1, metadata));
    const type = message((writer) => {
      writer.string(1, 'v1');
      writer.string(2, 'ConfigMap');
    });
    const unknown = message((writer) => {
      writer.bytes(1, type);
      writer.bytes(2, raw);
    });
    return Buffer.concat([Buffer.from('k8s\0'), unknown]);
  },
} as const;

function message(write: (writer: WireWriter) => void): Uint8Array {
  const writer = new WireWriter();
  write(writer);
  return writer.finish();
}
