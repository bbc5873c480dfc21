import { truncate } from '../../api/text.ts';
import { badRequest } from '../../api/errors.ts';
import type { FieldError } from '../../api/field-errors.ts';
import { invalidValue, notSupported } from '../../api/field-errors.ts';
import type { DeleteOptions } from '../../api/delete-options.ts';
import { deleteOptions } from '../../api/delete-options.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { JsonError } from '../../api/schema/json.ts';
import { decodeEnvelope, decodeProtobuf, ProtobufError } from '../../api/schema/protobuf.ts';
import { YamlError } from '../../api/schema/yaml.ts';
import { acceptedTypes } from '../negotiate/accept.ts';
import type { ServerContext } from '../context.ts';
import type { Work } from '../limits/time-slicer.ts';
import type { ApiRequest } from '../reply.ts';
import { isTrue } from '../request.ts';
import { maxBodyBytes, mediaType, unsupportedType } from './body.ts';
import { noVersion, notAnObject } from './body-type.ts';
import type { BodyDecoder } from './body-decoder.ts';
import { decodeStage } from './body-decoder.ts';
import { dryRunErrors, rejectOptions } from './write-options.ts';

/** Reads DeleteOptions from the body, or from the query if the body is empty. */
export async function readDeleteOptions(
  { timeSlicer, bodies }: Pick<ServerContext, 'timeSlicer' | 'bodies'>,
  request: ApiRequest,
  query: URLSearchParams,
): Promise<DeleteOptions> {
  const bytes = await request.body(maxBodyBytes);
  const options =
    bytes.length > 0
      ? await fromBody(request, bytes, { bodies, work: timeSlicer.open(bytes.length) })
      : fromQuery(query);
  rejectOptions('DeleteOptions', optionErrors(options));
  return options;
}

async function fromBody(
  request: ApiRequest,
  bytes: Buffer,
  { bodies, work }: { readonly bodies: BodyDecoder; readonly work: Work },
): Promise<DeleteOptions> {
  const type = mediaType(request);
  try {
    if (type === 'protobuf') {
      return await decodeStage(work, () => decodeProtobuf<DeleteOptions>(deleteOptions, decodeEnvelope(bytes).raw));
    }
    if (type !== 'json' && type !== 'yaml') throw unsupportedType(acceptedTypes);
    const { value } = await bodies.decode(bytes, type, work);
    checkType(value);
    return decode<DeleteOptions>(deleteOptions, value).object;
  } catch (error) {
    if (error instanceof JsonError) throw badRequest(noVersion(error.message));
    const isBad = error instanceof YamlError || error instanceof DecodeError || error instanceof ProtobufError;
    if (isBad) throw badRequest(error.message);
    throw error;
  }
}

/** Throws a 400 unless the value has the kind DeleteOptions, of any version. */
function checkType(value: unknown): void {
  const given = value ?? {};
  if (!isJsonObject(given)) throw badRequest(noVersion(notAnObject(given)));
  const { kind = '', apiVersion = '' } = given;
  if (kind === '' || kind === 'DeleteOptions') return;
  const [quotedKind, quotedVersion] = [kind, apiVersion].map((text) => truncate(JSON.stringify(text)));
  throw badRequest(`no kind ${quotedKind} is registered for version ${quotedVersion}`);
}

function fromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get('gracePeriodSeconds');
  if (grace !== null && !/^-?\d{1,15}$/.test(grace)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  }
  const policy = query.get('propagationPolicy');
  const orphan = query.get('orphanDependents');
  const ignores = query.get('ignoreStoreReadErrorWithClusterBreakingPotential');
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    ...(ignores === null ? {} : { ignoreStoreReadErrorWithClusterBreakingPotential: isTrue(ignores) }),
    ...(query.has('dryRun') ? { dryRun: query.getAll('dryRun') } : {}),
  };
}

const policies = ['Foreground', 'Background', 'Orphan'];

function optionErrors({ propagationPolicy, orphanDependents, dryRun = [] }: DeleteOptions): FieldError[] {
  const errors = dryRunErrors(dryRun);
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    errors.push(
      invalidValue(
        'propagationPolicy',
        propagationPolicy,
        'orphanDependents and deletionPropagation cannot be both set',
      ),
    );
  }
  if (propagationPolicy !== undefined && !policies.includes(propagationPolicy)) {
    errors.push(notSupported('propagationPolicy', propagationPolicy, [...policies, 'nil']));
  }
  return errors;
}
