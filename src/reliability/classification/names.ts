/** What SDKs call their error classes. */
import type { Category } from './category.ts'

type Names = Readonly<Partial<Record<Category, readonly string[]>>>

/** Names that decide, before the HTTP status: `ThrottlingException` comes with status 400. The prefix `AI_` is left out. */
export const DECIDING_NAMES: Names = {
  network: ['EmptyResponseBodyError'],
  rate_limit: [
    // the AWS SDK's own list of throttling codes
    'BandwidthLimitExceeded', 'EC2ThrottledException', 'LimitExceededException', 'PriorRequestNotComplete', 'ProvisionedThroughputExceededException',
    'RequestLimitExceeded', 'RequestThrottled', 'RequestThrottledException', 'SlowDown', 'ThrottledException', 'Throttling', 'ThrottlingException',
    'TooManyRequestsException', 'TransactionInProgressException',
  ],
  overloaded: ['OverloadedError', 'ModelNotReadyException', 'ModelOverloadedError'],
  timeout: [
    'TimeoutError', 'APIConnectionTimeoutError', 'APITimeoutError', 'ConnectTimeoutError', 'HeadersTimeoutError', 'BodyTimeoutError', 'RequestTimeoutError',
    'ReadTimeoutError', 'ConnectTimeout', 'ReadTimeout', 'WriteTimeout', 'PoolTimeout', 'Timeout', 'RequestTimeout', 'RequestTimeoutException',
    'ModelTimeoutException', 'GatewayTimeoutError', 'GatewayTimeoutException', 'DeadlineExceededError', 'ToolTimeoutError', 'TimeoutFailure',
    'MongoNetworkTimeoutError', 'MongoOperationTimeoutError', 'ConnectionTimeoutError', 'SocketTimeoutError', 'KafkaJSRequestTimeoutError', 'SequelizeTimeoutError',
  ],
  quota: ['ServiceQuotaExceededException', 'BudgetExceededError', 'InsufficientQuotaError', 'PaymentRequiredError', 'InsufficientCreditsError', 'PaymentRequiredResponseError'],
  auth: [
    'LoadAPIKeyError', 'AccessDeniedException', 'UnrecognizedClientException', 'ExpiredTokenException', 'ExpiredToken', 'InvalidSignatureException',
    'InvalidClientTokenId', 'MissingAuthenticationTokenException', 'CredentialsProviderError', 'TokenProviderError', 'InvalidGrantError', 'UnauthorizedException',
  ],
  content_filter: ['ContentPolicyViolationError', 'ContentFilterFinishReasonError', 'ContentFilterError', 'ResponsibleAIPolicyViolation'],
  context_overflow: ['ContextWindowExceededError', 'ContextOverflowError', 'ContextLengthExceededError'],
  invalid_request: [
    'MissingToolResultsError', 'InvalidPromptError', 'InvalidArgumentError', 'InvalidMessageRoleError', 'InvalidDataContentError', 'MessageConversionError',
    'UnsupportedFunctionalityError', 'NoSuchModelError', 'NoSuchProviderError', 'NoSuchProviderReferenceError', 'TooManyEmbeddingValuesForCallError',
    'UnsupportedModelVersionError', 'LoadSettingError', 'UIMessageStreamError',
  ],
  server: ['ModelErrorException', 'ModelStreamErrorException', 'InternalFailure', 'InternalServerException', 'InternalServiceException'],
  cancelled: ['APIUserAbortError', 'CanceledError', 'CancelledError', 'CancelledFailure', 'RequestAbortedError', 'ResponseAborted', 'CancelError', 'TaskCancelledError'],
  tool: ['NoSuchToolError', 'InvalidToolInputError', 'InvalidToolArgumentsError', 'ToolCallRepairError', 'ToolInputParsingException'],
}

/** Names that only repeat the HTTP status, and are broader than it: Anthropic's `InternalServerError` comes with 529 too. */
export const STATUS_NAMES: Names = {
  rate_limit: ['RateLimitError', 'TooManyRequestsError', 'TooManyRequestsResponseError', 'GatewayRateLimitError', 'RateLimitExceededError'],
  auth: ['AuthenticationError', 'PermissionDeniedError', 'UnauthorizedError', 'ForbiddenError', 'GatewayAuthenticationError', 'PermissionError', 'UnauthorizedResponseError'],
  invalid_request: [
    'BadRequestError', 'NotFoundError', 'UnprocessableEntityError', 'ConflictError', 'InvalidRequestError', 'GatewayInvalidRequestError',
    'GatewayModelNotFoundError', 'ValidationException', 'ResourceNotFoundException', 'BadRequestException', 'BadRequestResponseError',
  ],
  server: [
    'InternalServerError', 'ServiceUnavailableError', 'ServiceUnavailableException', 'BadGatewayError', 'GatewayInternalServerError', 'ServerError',
    'InternalServerResponseError', 'ServiceUnavailable', 'StripeAPIError', 'INTERNAL_SERVICE_ERROR',
  ],
}

/** Names that say only that there was no connection. What they wrap knows better: a timeout, a certificate, a wrong address. */
export const CONNECTION_NAMES: readonly string[] = [
  'APIConnectionError', 'ConnectionError', 'ConnectError', 'ReadError', 'WriteError', 'RemoteProtocolError', 'ConnectionResetError', 'ConnectionRefusedError',
  'BrokenPipeError', 'SocketError', 'RequestContentLengthMismatchError', 'StreamClosedError', 'NetworkError',
  'HTTPParserError', // undici's, where the parser gives no code
  'StripeConnectionError', 'NetworkingError', 'MongoNetworkError', 'MongoServerSelectionError', 'MongoPoolClearedError', 'PoolClearedError', 'MaxRetriesPerRequestError',
  'ClusterAllFailedError', 'SocketClosedUnexpectedlyError', 'DisconnectsClientError', 'KafkaJSConnectionError', 'KafkaJSConnectionClosedError',
  'SequelizeConnectionError', 'SequelizeConnectionRefusedError', 'NoLivingConnectionsError',
  'TargetCloseError', 'TargetClosedError', // a browser that went
]

/** Errors by which somebody says that retrying is over. */
const FINAL_NAMES: readonly string[] = ['FatalError', 'TerminalError', 'NonRetryableError', 'UnrecoverableError']

function index(table: Names): (name: string) => Category | undefined {
  const map = new Map<string, Category>()
  for (const [category, names] of Object.entries(table)) for (const name of names) map.set(name, category as Category)
  return (name) => map.get(bare(name))
}

/** The class name alone: `AI_NoSuchToolError`, `litellm.RateLimitError`, `com.amazon.coral#ThrottlingException:http://...`, `throttlingException`. */
function bare(name: string): string {
  const last = name.replace(/:.*$/, '').replace(/^.*[.#]/, '').replace(/^AI_/, '')
  return last.charAt(0).toUpperCase() + last.slice(1)
}

export const decidingName = index(DECIDING_NAMES)
export const statusName = index(STATUS_NAMES)
export const isConnectionName = (name: string): boolean => CONNECTION_NAMES.includes(bare(name))
export const isFinalName = (name: string): boolean => FINAL_NAMES.includes(bare(name))
