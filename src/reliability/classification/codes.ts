/** Codes of operating systems, runtimes, protocols and databases. */
import { itemsIn } from '../../core/places.ts'
import type { Category } from './category.ts'
import { namesOf, read } from './layers.ts'

export interface CodeVerdict {
  readonly category: Category
  readonly rule: string
  readonly retryable?: false
}

/** Codes under `code` or `errno`, as they are spelled. */
const SYSTEM: Readonly<Partial<Record<Category, readonly string[]>>> = {
  network: [
    // libuv, DNS
    'ECONNRESET', 'ECONNREFUSED', 'EADDRNOTAVAIL', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME', 'ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EHOSTDOWN',
    'ENETRESET', 'ENOTCONN', 'ESHUTDOWN', 'ECONNABORTED', 'EPROTO', 'ENONET',
    // node:http2, node:stream, undici
    'ERR_STREAM_PREMATURE_CLOSE', 'ERR_HTTP2_STREAM_ERROR', 'ERR_HTTP2_SESSION_ERROR', 'ERR_HTTP2_GOAWAY_SESSION', 'ERR_HTTP2_INVALID_SESSION',
    'ERR_HTTP2_INVALID_STREAM', 'ERR_SOCKET_CLOSED', 'ERR_SOCKET_CONNECTION_CLOSED', 'UND_ERR_SOCKET', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED',
    'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UND_ERR_PRX_TLS', 'ERR_STREAM_DESTROYED', 'ERR_IPC_CHANNEL_CLOSED',
    'ERR_HTTP2_STREAM_CANCEL', 'ERR_HTTP2_PING_CANCEL', // the session went, and its streams with it: nobody called them off
    // axios, Bun, @azure, nodemailer, Slack
    'ERR_NETWORK', 'ConnectionClosed', 'ConnectionRefused', 'ConnectionReset', 'FailedToOpenSocket', 'REQUEST_SEND_ERROR', 'ECONNECTION', 'ESOCKET', 'EDNS', 'ETLS',
    'slack_webapi_request_error',
    // MySQL, MariaDB, SQL Server, postgres.js and NATS, MongoDB
    'PROTOCOL_CONNECTION_LOST', 'ER_SOCKET_UNEXPECTED_CLOSE', 'ER_CMD_CONNECTION_CLOSED', 'ECONNCLOSED', 'CONNECTION_CLOSED', 'CONNECTION_ENDED',
    'CONNECTION_DESTROYED', 'HostUnreachable', 'SocketException', 'CR_SERVER_LOST', 'CR_SERVER_GONE_ERROR',
    'ORA-03113', 'ORA-03114', 'ORA-03135', 'ORA-12537', 'ORA-12541', 'ORA-12547', 'ORA-12571', 'NJS-500', 'NJS-501', 'NJS-503', 'NJS-511', 'DPI-1010', 'DPI-1080', // Oracle
  ],
  timeout: [
    'ETIMEDOUT', 'ESOCKETTIMEDOUT', 'ETIMEOUT', 'EDNSTIMEOUT', 'ERR_SOCKET_CONNECTION_TIMEOUT', 'ERR_HTTP_REQUEST_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT',
    'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'STEP_TIMEOUT', 'RUN_TIMEOUT',
    'PROTOCOL_SEQUENCE_TIMEOUT', 'ER_CONNECTION_TIMEOUT', 'ER_SOCKET_TIMEOUT', 'ER_QUERY_TIMEOUT', 'CONNECT_TIMEOUT', 'NetworkTimeout', 'ExceededTimeLimit', 'MaxTimeMSExpired',
    'ORA-12170', 'NJS-040', 'NJS-123', 'NJS-510', 'REQUEST_TIMED_OUT',
  ],
  overloaded: ['EMFILE', 'ENFILE', 'ER_CON_COUNT_ERROR', 'ER_TOO_MANY_USER_CONNECTIONS'],
  cancelled: ['ABORT_ERR', 'ERR_CANCELED', 'UND_ERR_ABORTED', 'ECANCELED', 'ECANCEL', 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER', 'ERR_WORKER_OUT_OF_MEMORY'],
  invalid_request: ['ERR_INVALID_URL', 'ERR_INVALID_PROTOCOL', 'ERR_UNESCAPED_CHARACTERS', 'ERR_INVALID_CHAR', 'UND_ERR_INVALID_ARG', 'DuplicateKey'],
  server: [
    'SQLITE_BUSY', 'SQLITE_LOCKED', 'STORE_UNAVAILABLE', 'ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT',
    'ER_SERVER_SHUTDOWN', 'ER_QUERY_INTERRUPTED', 'ERR_BAD_RESPONSE', // axios: a stream that was cut, a body that is too large
    'PrimarySteppedDown', 'NotWritablePrimary', 'ShutdownInProgress', 'InterruptedAtShutdown', 'InterruptedDueToReplStateChange', 'WriteConcernFailed', 'Interrupted', // MongoDB
    'NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'COORDINATOR_LOAD_IN_PROGRESS', // Kafka
  ],
}

/** gRPC status codes by number. 2 (UNKNOWN) is what a server says for a throw of its own, as HTTP says 500; whether it stays, nobody knows. */
const GRPC: Readonly<Record<number, Category>> = {
  1: 'cancelled', 2: 'server', 3: 'invalid_request', 4: 'timeout', 5: 'invalid_request', 6: 'invalid_request', 7: 'auth', 8: 'rate_limit', 9: 'invalid_request',
  10: 'server', 11: 'invalid_request', 12: 'server', 13: 'server', 14: 'network', 15: 'server', 16: 'auth',
}

const GRPC_NAMES = [
  'OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED',
]

/** JSON-RPC codes, those of MCP included. */
const JSON_RPC: Readonly<Record<number, Category>> = {
  [-32000]: 'network', // MCP: connection closed
  [-32001]: 'timeout', // MCP: request timed out
  [-32002]: 'invalid_request',
  [-32600]: 'invalid_request',
  [-32601]: 'invalid_request',
  [-32602]: 'tool',    // invalid arguments for a tool
  [-32603]: 'server',
  [-32700]: 'invalid_request',
  [-32800]: 'cancelled',
}

/** SQLSTATE by code, else by class (its first two characters). */
const SQLSTATE: Readonly<Record<string, Category>> = {
  '40001': 'server', '40003': 'server', '40P01': 'server', '55P03': 'server', '57014': 'timeout', '57P01': 'server', '57P02': 'server', '57P03': 'server', '25P03': 'timeout', '70100': 'server', // MySQL: interrupted
  '08': 'network', '53': 'server', '58': 'server', '28': 'auth', '42501': 'auth',
  '0A': 'invalid_request', '22': 'invalid_request', '23': 'invalid_request', '42': 'invalid_request',
}

const system = new Map(Object.entries(SYSTEM).flatMap(([category, codes]) => codes.map((code) => [code, category as Category] as const)))

/** Prisma's codes of connections and their time. */
const PRISMA: Readonly<Record<string, Category>> = {
  P1001: 'network', P1002: 'timeout', P1008: 'timeout', P1017: 'network', P2024: 'timeout', P2028: 'timeout', P2034: 'server', P2002: 'invalid_request',
}

/** A certificate does not heal in seconds. */
const CERTIFICATE = /^(?:ERR_TLS_CERT_|ERR_CERT_|CERT_|UNABLE_TO_(?:GET|VERIFY)_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/

/** What a code in words means: errno and the like, SQLSTATE where the error is a database's. */
export function bySystemCode(code: string, of: unknown): CodeVerdict | undefined {
  const category = system.get(code) ?? system.get(/^SQLITE_(?:BUSY|LOCKED)/.exec(code)?.[0] ?? '')
  if (category !== undefined) return { category, rule: `code:${code}` }
  if (CERTIFICATE.test(code)) return { category: 'network', rule: `certificate:${code}`, retryable: false }
  // The HTTP parser's and OpenSSL's: garbage on the wire.
  if (code.startsWith('HPE_') || code.startsWith('ERR_SSL_')) return { category: 'network', rule: `code:${code}` }
  const prisma = namesOf(of).some((name) => name.startsWith('PrismaClient')) ? PRISMA[code] : undefined
  return prisma === undefined ? bySqlState(code, of) : { category: prisma, rule: `prisma:${code}` }
}

function bySqlState(code: string, of: unknown): CodeVerdict | undefined {
  if (!SQL_STATE.test(code)) return undefined
  // A five-digit code may be anybody's: only a database error has a severity, or such a name. Those with a P in the middle are PostgreSQL's own.
  const isDatabase = typeof read(of, 'severity') === 'string' || namesOf(of).some((name) => /^(?:error|DatabaseError|PostgresError|PostgrestError)$/.test(name))
  if (!isDatabase && code[2] !== 'P') return undefined
  return bySqlClass(code, isDatabase)
}

function bySqlClass(code: string, isDatabase: boolean): CodeVerdict | undefined {
  // An internal error of the database stays, most often; what it did before it, nobody knows.
  if (isDatabase && code.startsWith('XX')) return { category: 'server', rule: `sqlstate:${code}`, retryable: false }
  const category = SQLSTATE[code] ?? (isDatabase ? SQLSTATE[code.slice(0, 2)] : undefined)
  return category === undefined ? undefined : { category, rule: `sqlstate:${code}` }
}

/** What the servers of databases say beside their own code: MySQL's and MariaDB's `sqlState`, MongoDB's labels. */
export function byDatabase(value: unknown): CodeVerdict | undefined {
  const labels = read(value, 'errorLabels')
  const label = Array.isArray(labels) ? MONGO_LABELS.find((each) => itemsIn(labels).includes(each)) : undefined
  if (label !== undefined) return { category: 'server', rule: `mongo:${label}` }
  const state = read(value, 'sqlState')
  return typeof state === 'string' && SQL_STATE.test(state) ? bySqlClass(state, true) : undefined
}

const MONGO_LABELS = ['UnknownTransactionCommitResult', 'TransientTransactionError', 'RetryableWriteError']

const SQL_STATE = /^(?:[0-9][0-9A-Z]{4}|XX[0-9A-Z]{3})$/

/** What a mail server answered: 4xx is for now, 5xx for good. Its numbers are not those of HTTP. */
export function bySmtp(value: unknown): CodeVerdict | undefined {
  const code = read(value, 'responseCode')
  if (typeof code !== 'number' || (typeof read(value, 'command') !== 'string' && !/^E(?:ENVELOPE|MESSAGE|AUTH|PROTOCOL|STREAM|CONNECTION)$/.test(String(read(value, 'code'))))) return undefined
  const category = SMTP_AUTH.has(code) ? 'auth' : code >= 400 && code < 500 ? 'server' : code >= 500 && code < 600 ? 'invalid_request' : undefined
  return category && { category, rule: `smtp:${code}` }
}

const SMTP_AUTH: ReadonlySet<number> = new Set([530, 534, 535, 538])

/** What a number under `code` means: JSON-RPC when it is negative, gRPC when something else says that it is gRPC. HTTP is not decided here. */
export function byNumber(code: number, of: unknown): CodeVerdict | undefined {
  if (code <= -32000 && code >= -32999) {
    const category = JSON_RPC[code]
    return category === undefined ? undefined : { category, rule: `json-rpc:${code}` }
  }
  return isGrpc(code, of) ? byGrpc(String(code)) : undefined
}

/** What a gRPC code means, by number or by name (`UNAVAILABLE`, Go's `Unavailable`). */
export function byGrpc(code: string): CodeVerdict | undefined {
  const number = /^\d+$/.test(code) ? Number(code) : GRPC_NAMES.findIndex((name) => name.replaceAll('_', '') === code.replaceAll('_', '').toUpperCase())
  const category = GRPC[number]
  if (category === undefined) return undefined
  const rule = `grpc:${number}`
  return number === 2 || number === 12 || number === 15 ? { category, rule, retryable: false } : { category, rule }
}

/** `code: 1` may be the exit code of a process. */
function isGrpc(code: number, of: unknown): boolean {
  if (read(of, 'details') !== undefined || read(of, 'metadata') !== undefined) return true
  if (namesOf(of).some((name) => /^(?:ConnectError|GrpcError|RpcError|ServiceError|StatusRuntimeException)$/.test(name))) return true
  const message = read(of, 'message')
  return typeof message === 'string' && message.startsWith(`${code} `) && /^\d+ [A-Z_]+: /.test(message.slice(0, 40))
}
