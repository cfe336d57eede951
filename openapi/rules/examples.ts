/**
 * The mock returns the examples, the reference shows them and the tests send them, so every body, response and parameter
 * has one. Each is in a file of its own, by name, so that examples in several places do not differ.
 */
import { isReference, operationsOf, type Place, type Report, wholeContract } from './contract.ts';

export const examples = wholeContract((root, report) => {
  for (const { parameters, body, responses } of operationsOf(root)) {
    for (const parameter of parameters) checkValue(parameter, 'parameter', report);
    if (body !== undefined) checkContent(body, report);
    for (const [, response] of responses) {
      checkContent(response, report);
      for (const [, header] of response.map('headers')) checkValue(header, 'header', report);
    }
  }
  for (const [, webhook] of root.map('webhooks')) {
    for (const parameter of webhook.list('post', 'parameters')) checkValue(parameter, 'parameter', report);
    const body = webhook.get('post', 'requestBody');
    if (body !== undefined) checkContent(body, report);
  }
});

function checkValue(value: Place, kind: string, report: Report): void {
  if (value.layers.length > 0 && value.get('example') === undefined && value.get('examples') === undefined) {
    report(value.home, `Add an example to the ${kind}.`);
  }
}

function checkContent(message: Place, report: Report): void {
  for (const [, media] of message.map('content')) {
    const named = media.map('examples');
    if (named.length === 0) report(media, 'Show at least one example by name, under `examples`.');
    for (const [name, example] of named) {
      if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)) report(example, `Name the example ${name} in snake_case.`);
      if (!isReference(example.raw)) report(example, 'Put the example into a file under examples/, and refer to it.');
      // A reference that leads nowhere is the finding of `no-unresolved-refs`.
      if (example.layers.length === 0) continue;
      if (example.text('summary') === undefined) report(example.home, 'Describe in `summary` what the example shows.');
      if (example.get('value') === undefined) report(example.home, 'Add a `value` to the example.');
    }
  }
}
