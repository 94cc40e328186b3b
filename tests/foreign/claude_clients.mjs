// Anthropic's SDK for JavaScript against the local Claude: plain, streamed, and a turn sent back.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const { default: Anthropic } = createRequire(process.cwd() + '/')('@anthropic-ai/sdk');

const client = new Anthropic({ apiKey: 'sk-ant-local', baseURL: process.env.CLAUDE_BASE_URL });
const tool = {
  name: 'get_weather',
  description: 'The weather in a city.',
  strict: true,
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
const first = { role: 'user', content: 'Do I need an umbrella in Leeds?' };
const request = { model: 'claude-opus-5-5', max_tokens: 1000, tools: [tool], messages: [first] };

const plain = await client.messages.create(request);
const streamed = await client.messages.stream(request).finalMessage();
assert.deepEqual(streamed.content, plain.content);
assert.equal(plain.stop_reason, 'tool_use');

const call = plain.content.find((block) => block.type === 'tool_use');
const result = { type: 'tool_result', tool_use_id: call.id, content: `rain in ${call.input.city}` };
const messages = [
  first,
  { role: 'assistant', content: plain.content },
  { role: 'user', content: [result] },
];
const last = await client.messages.stream({ ...request, messages }).finalText();
assert.equal(last, 'Take one: rain in Leeds.');

const { max_tokens, ...counted } = request;
assert.equal((await client.messages.countTokens(counted)).input_tokens, plain.usage.input_tokens);
assert.equal((await client.models.retrieve('claude-opus-5-5')).id, 'claude-opus-5-5');
