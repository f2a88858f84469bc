//! The variables, as the documentation lists them.

use super::Variable;

/// Every variable that [`ModelConfig::read`](super::ModelConfig::read) knows, in the order of the documentation. An
/// empty default is none.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "REVERIE_MODEL_PROVIDER",
        default: "offline",
        meaning: "Who runs the language models: offline (none is asked), bedrock, anthropic or openai.",
    },
    Variable {
        name: "REVERIE_MODEL",
        default: "",
        meaning: "The model's id, as the provider calls it. Needed unless offline. An id of another provider has its name and a colon before it (openai:gpt-…).",
    },
    Variable {
        name: "REVERIE_MODEL_DERIVER",
        default: "",
        meaning: "Another model for deriving conclusions from messages.",
    },
    Variable {
        name: "REVERIE_MODEL_DREAM",
        default: "",
        meaning: "Another model for dreams.",
    },
    Variable {
        name: "REVERIE_MODEL_SUMMARY",
        default: "",
        meaning: "Another model for summaries.",
    },
    Variable {
        name: "REVERIE_MODEL_CHAT",
        default: "",
        meaning: "Another model for answering questions about a peer.",
    },
    Variable {
        name: "REVERIE_MODEL_FALLBACK",
        default: "",
        meaning: "The model to ask for five minutes after another has failed with all of its retries.",
    },
    Variable {
        name: "REVERIE_MODEL_TEMPERATURE",
        default: "",
        meaning: "Sampling temperature, 0 to 2. None is sent unless it is set, since newer models refuse it.",
    },
    Variable {
        name: "REVERIE_MODEL_TIMEOUT_SECONDS",
        default: "120",
        meaning: "Longest time of one call with its retries, in seconds, 0.1 to 3600; of a streamed answer until its first part.",
    },
    Variable {
        name: "REVERIE_MODEL_RETRIES",
        default: "3",
        meaning: "How often a call is made again after a failure that passes, 0 to 10.",
    },
    Variable {
        name: "ANTHROPIC_API_KEY",
        default: "",
        meaning: "The key of the provider anthropic, or the ARN of a Secrets Manager secret or SSM parameter that holds it (with #member for a member of a JSON secret).",
    },
    Variable {
        name: "ANTHROPIC_AUTH_TOKEN",
        default: "",
        meaning: "The same, sent as a bearer token; for gateways. Not used when there is a key.",
    },
    Variable {
        name: "ANTHROPIC_BASE_URL",
        default: "https://api.anthropic.com",
        meaning: "The address of the provider anthropic: a gateway, or Bedrock's own Messages address (https://bedrock-mantle.REGION.api.aws/anthropic, signed when there is no key).",
    },
    Variable {
        name: "OPENAI_API_KEY",
        default: "",
        meaning: "The key of the provider openai, or an ARN as above. A server of one's own may need none.",
    },
    Variable {
        name: "OPENAI_BASE_URL",
        default: "https://api.openai.com/v1",
        meaning: "The address of the provider openai, with its version: of OpenAI, or of a vLLM, Ollama or llama.cpp server.",
    },
    Variable {
        name: "AWS_BEARER_TOKEN_BEDROCK",
        default: "",
        meaning: "A Bedrock API key, or an ARN as above. Without it requests to Bedrock are signed with the credentials of the AWS chain.",
    },
    Variable {
        name: "REVERIE_EMBEDDING_PROVIDER",
        default: "builtin",
        meaning: "Who embeds: builtin (English words by meaning, any script by parts of words), bedrock or openai.",
    },
    Variable {
        name: "REVERIE_EMBEDDING_MODEL",
        default: "",
        meaning: "The embedding model's id. Needed unless builtin. On Bedrock a titan-embed-text or cohere.embed model.",
    },
    Variable {
        name: "REVERIE_EMBEDDING_DIMENSIONS",
        default: "",
        meaning: "Components of a vector, 1 to 4096, for models that let one choose; a byte each in the table. Another number is another model: everything is embedded anew.",
    },
    Variable {
        name: "REVERIE_EMBEDDING_BASE_URL",
        default: "",
        meaning: "The address of the embedding provider openai, when it is not that of the language model.",
    },
    Variable {
        name: "REVERIE_EMBEDDING_API_KEY",
        default: "",
        meaning: "Its key, or an ARN as above, when it is not that of the language model.",
    },
    Variable {
        name: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        default: "",
        meaning: "Another address of Bedrock. AWS_ENDPOINT_URL changes the addresses of all services.",
    },
    Variable {
        name: "AWS_ENDPOINT_URL_SECRETS_MANAGER",
        default: "",
        meaning: "Another address of Secrets Manager.",
    },
    Variable {
        name: "AWS_ENDPOINT_URL_SSM",
        default: "",
        meaning: "Another address of SSM.",
    },
];
