import { pageStyle } from '../../../wire/page-style.ts';
import { watchHash } from './watch.ts';

const { element, policy } = pageStyle(`*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.skip{position:absolute;left:-999em}
.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem 1rem}
header,main,footer{max-width:40rem;margin:0 auto;padding:0 1rem}
header{padding-top:2rem}
.org{margin:0;font-weight:600;font-size:1.0625rem;overflow-wrap:anywhere}
main{margin:1rem auto 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.75rem 2rem;margin-bottom:1rem}
h1{font-size:1.625rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.125rem;margin:1.75rem 0 .5rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
.lead{color:var(--soft)}
.note{white-space:pre-wrap;border-left:.25rem solid var(--accent);padding:.125rem 0 .125rem .75rem;margin:1rem 0}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.75rem 0 .25rem}
th,td{text-align:left;padding:.5rem .5rem .5rem 0;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
thead th{color:var(--soft);font-weight:500;font-size:.875rem}
th{font-weight:500}
th:last-child,td:last-child{text-align:right;padding-right:0}
.when{white-space:nowrap}
tfoot th,tfoot td{border-bottom:0;font-weight:700}
dl{display:grid;grid-template-columns:minmax(7rem,auto) 1fr;gap:.375rem 1rem;margin:1rem 0;font-variant-numeric:tabular-nums}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
fieldset{border:0;padding:0;margin:1.25rem 0 0;min-width:0}
legend{padding:0;font-weight:600;font-size:1.125rem}
label,.label{display:block;font-weight:500;margin-top:1rem}
.hint{display:block;color:var(--soft);font-size:.875rem;font-weight:400}
input[type=text],input[type=email]{display:block;width:100%;font:inherit;color:inherit;background:var(--card);border:1px solid var(--field);
border-radius:.5rem;padding:.625rem .75rem;margin-top:.25rem;min-height:2.875rem}
input[aria-invalid=true]{border:2px solid var(--error)}
.short{max-width:11rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:0 1rem;align-items:end}
.choice{display:flex;align-items:center;gap:.75rem;border:1px solid var(--field);border-radius:.5rem;padding:.625rem .75rem;margin-top:.5rem;min-height:2.875rem;cursor:pointer}
.choice input{width:1.25rem;height:1.25rem;margin:0;flex:none;accent-color:var(--accent)}
.choice:has(:checked){border-color:var(--accent);box-shadow:inset 0 0 0 1px var(--accent)}
form:has(#method-CARD:checked) .by-ACH,form:has(#method-ACH:checked) .by-CARD,form:has(.methods):not(:has(:checked)) :is(.by-CARD,.by-ACH){display:none}
button,.button{display:block;width:100%;font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer;border:1px solid var(--accent);border-radius:.5rem;
padding:.75rem 1rem;margin-top:1.5rem;min-height:3rem;background:var(--accent);color:var(--on-accent)}
button:hover,.button:hover{background:var(--accent-dark)}
button.plain{background:transparent;color:var(--accent);margin-top:.75rem}
button.plain:hover{background:var(--info-bg)}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.alert{border-radius:.5rem;padding:.875rem 1rem;margin:0 0 1.25rem;background:var(--info-bg);border-left:.25rem solid var(--accent)}
.alert.bad{background:var(--error-bg);border-color:var(--error)}
.alert.good{background:var(--good-bg);border-color:var(--good)}
.alert :is(h2,p){margin:0}
.alert h2{font-size:1rem}
.alert ul{margin:.25rem 0 0;padding-left:1.25rem}
.alert a{color:inherit}
.error{display:block;color:var(--error);font-size:.875rem;font-weight:500}
details table{margin-top:.5rem}
summary{cursor:pointer;color:var(--accent)}
footer{padding-bottom:2rem;color:var(--soft);font-size:.875rem}
@media (max-width:30rem){header{padding-top:1.25rem}.card{padding:1.25rem 1rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
@media (prefers-contrast:more){:root{--line:var(--field)}}
@media print{body{background:#fff}.card{border:0}button,.button{display:none}}
`);

export const styleElement = element;
export const contentPolicy = policy;

/** For the page that looks for the result of a payment; it has no fields. */
export const watchPolicy = `${contentPolicy}; script-src ${watchHash}; connect-src 'self'`;
