import { pageStyle } from '../../../wire/page-style.ts';
import { watchHash } from './watch.ts';

export const style = pageStyle(`header,main,footer{max-width:40rem;margin:0 auto;padding:0 1rem}
header{padding-top:2rem}
.org{margin:0;font-weight:600;font-size:1.0625rem;overflow-wrap:anywhere}
main{margin:1rem auto 0}
.card{padding:1.75rem 2rem}
h1{font-size:1.625rem}
h2{font-size:1.125rem;margin:1.75rem 0 .5rem}
.note{white-space:pre-wrap;border-left:.25rem solid var(--accent);padding:.125rem 0 .125rem .75rem;margin:1rem 0}
caption{text-align:left;font-weight:600;padding:.75rem 0 .25rem}
th,td{padding:.5rem .5rem .5rem 0;overflow-wrap:anywhere}
thead th{font-size:.875rem}
th{font-weight:500}
th:last-child,td:last-child{text-align:right;padding-right:0}
tfoot th,tfoot td{border-bottom:0;font-weight:700}
dl{grid-template-columns:minmax(7rem,auto) 1fr;gap:.375rem 1rem;margin:1rem 0}
fieldset{border:0;padding:0;margin:1.25rem 0 0;min-width:0}
legend{padding:0;font-weight:600;font-size:1.125rem}
label,.label{display:block;font-weight:500;margin-top:1rem}
.hint{display:block;font-size:.875rem}
input:is([type=text],[type=email]){padding:.625rem .75rem;min-height:2.875rem}
input[aria-invalid=true]{border:2px solid var(--error)}
.short{max-width:11rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:0 1rem;align-items:end}
.choice{display:flex;align-items:center;gap:.75rem;border:1px solid var(--field);border-radius:.5rem;padding:.625rem .75rem;margin-top:.5rem;min-height:2.875rem;cursor:pointer}
.choice input{flex:none}
.choice:has(:checked){border-color:var(--accent);box-shadow:inset 0 0 0 1px var(--accent)}
form:has(#method-CARD:checked) .by-ACH,form:has(#method-ACH:checked) .by-CARD,form:has(.methods):not(:has(:checked)) :is(.by-CARD,.by-ACH){display:none}
button,.button{display:block;width:100%;text-align:center;padding:.75rem 1rem;margin-top:1.5rem;min-height:3rem}
button.plain{margin-top:.75rem}
.alert{padding:.875rem 1rem;margin-bottom:1.25rem}
.alert h2{font-size:1rem}
.alert a{color:inherit}
.error{display:block;color:var(--error);font-size:.875rem;font-weight:500}
details table{margin-top:.5rem}
footer{padding-bottom:2rem;color:var(--soft);font-size:.875rem}
@media (max-width:30rem){header{padding-top:1.25rem}.card{padding:1.25rem 1rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
@media print{body{background:#fff}.card{border:0}button,.button{display:none}}
`);

/** For the page that looks for the result of a payment; it has no fields. */
export const watchPolicy = `${style.policy}; script-src ${watchHash}; connect-src 'self'`;
