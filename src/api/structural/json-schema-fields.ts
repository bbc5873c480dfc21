/** The types of the fields of JSONSchemaProps and of the messages in it. */
export type FieldType =
  | 'string'
  | 'boolean'
  | 'double'
  | 'int64'
  | 'json'
  | 'jsons'
  | 'strings'
  | 'schema'
  | 'schemas'
  | 'schemaMap'
  | 'schemaOrBoolean'
  | 'schemaOrSchemas'
  | 'dependencies'
  | 'docs'
  | 'rules';

interface MessageField {
  readonly type: FieldType;
  /** The protobuf number. */
  readonly number: number;
  /** The zero value is kept if it was sent. */
  readonly isPointer: boolean;
}

type Messages = 'schema' | 'rule' | 'docs';

// Name, type and number; `*` marks pointers. The order is that of JSON.
const texts: Readonly<Record<Messages, string>> = {
  schema: `
    id string 1, $schema string 2, $ref string* 3, description string 4, type string 5, format string 6, title string 7,
    default json* 8, maximum double* 9, exclusiveMaximum boolean 10, minimum double* 11, exclusiveMinimum boolean 12,
    maxLength int64* 13, minLength int64* 14, pattern string 15, maxItems int64* 16, minItems int64* 17,
    uniqueItems boolean 18, multipleOf double* 19, enum jsons 20, maxProperties int64* 21, minProperties int64* 22,
    required strings 23, items schemaOrSchemas* 24, allOf schemas 25, oneOf schemas 26, anyOf schemas 27, not schema* 28,
    properties schemaMap 29, additionalProperties schemaOrBoolean* 30, patternProperties schemaMap 31,
    dependencies dependencies 32, additionalItems schemaOrBoolean* 33, definitions schemaMap 34, externalDocs docs* 35,
    example json* 36, nullable boolean 37, x-kubernetes-preserve-unknown-fields boolean* 38,
    x-kubernetes-embedded-resource boolean 39, x-kubernetes-int-or-string boolean 40,
    x-kubernetes-list-map-keys strings 41, x-kubernetes-list-type string* 42, x-kubernetes-map-type string* 43,
    x-kubernetes-validations rules 44`,
  rule: `
    rule string 1, message string 2, messageExpression string 3, reason string* 4, fieldPath string 5,
    optionalOldSelf boolean* 6`,
  docs: `description string 1, url string 2`,
};

function parse(text: string): ReadonlyMap<string, MessageField> {
  return new Map(
    text.split(',').map((entry) => {
      const [name = '', type = '', number = ''] = entry.trim().split(' ');
      // The table above contains only these types.
      return [
        name,
        { type: type.replace('*', '') as FieldType, number: Number(number), isPointer: type.endsWith('*') },
      ];
    }),
  );
}

const tables: Readonly<Record<Messages, ReadonlyMap<string, MessageField>>> = {
  schema: parse(texts.schema),
  rule: parse(texts.rule),
  docs: parse(texts.docs),
};

/** The fields of a message, by name. */
export const fieldsOf = (message: Messages): ReadonlyMap<string, MessageField> => tables[message];
