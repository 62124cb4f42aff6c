import { status } from '@grpc/grpc-js';

/** Signs in an error's text, and what they mean to whoever starts the process. The first that matches counts. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'nothing listens there: is the server running, and is the port right?'],
  [/ENOTFOUND|EAI_AGAIN|Name resolution failed/, 'the host name cannot be resolved'],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT/, 'the host cannot be reached'],
  [/has expired|CERT_HAS_EXPIRED/, "the server's certificate has expired"],
  [/altname|does not match certificate/i, "the server's certificate is for another host name"],
  [
    /self[- ]signed|unable to (?:verify|get)|certificate|DEPTH_ZERO/i,
    "the server's certificate is not signed by a CA known here: give the right one as tlsCAFile",
  ],
  [
    /wrong version number|EPROTO|packet length too long|SSL routines|tls_get_more_records/i,
    'what answers there does not speak TLS: a plain server needs tls=false',
  ],
  [
    /Received HTTP status code|content-type|Protocol error|PROTOCOL_ERROR|HTTP\/1|Parse Error|NGHTTP2|ERR_HTTP2|Bad preface/i,
    'what answers there does not speak gRPC over HTTP/2: a proxy without HTTP/2, a web server or the wrong port',
  ],
  [
    /socket hang up|ECONNRESET|closed|Connection dropped|before secure TLS/i,
    'the connection was closed by the other side',
  ],
  [/Failed to discover/, 'no member of the cluster answered with a leader or follower'],
];

const codeOf = (error: unknown): number | undefined => {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'number' ? code : undefined;
};

const CODES: Readonly<Record<number, string>> = {
  [status.UNAUTHENTICATED]: 'the server does not accept the user name and password',
  [status.PERMISSION_DENIED]: 'the server does not allow this user to do it',
  [status.UNIMPLEMENTED]: 'the server does not offer this call: EventStoreDB 21.10 or later is needed',
};

/** Says what is wrong in words that name the cause, then the words of the error itself. */
export const explain = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  const cause = (code === undefined ? undefined : CODES[code]) ?? CAUSES.find(([sign]) => sign.test(text))?.[1];
  return cause === undefined ? text : `${cause} (${text})`;
};

/** Errors that a repetition would meet again: the request itself is refused, or the user is. */
export const isFinal = (error: unknown): boolean => {
  const code = codeOf(error);
  return (
    code === status.INVALID_ARGUMENT ||
    code === status.FAILED_PRECONDITION ||
    code === status.PERMISSION_DENIED ||
    code === status.UNAUTHENTICATED
  );
};
