//! Sentences that the English rules cannot judge: kept word for word when they clearly state something.

use super::lexicon::{STOP, word_set};
use super::token::{Token, is_ideographic, is_unspaced, latin_share, tokens};

word_set! {
    /// The first person in Spanish, French, German, Portuguese, Italian, Dutch, Swedish, Polish, Turkish, Indonesian.
    FIRST_LATIN = "yo mi mis mí soy estoy tengo vivo trabajo quiero prefiero odio nací nuestro nuestra somos vivimos
        je j'ai j'aime j'habite j'adore mon ma mes suis nous notre ich mein meine meinen meiner bin habe wohne arbeite
        wir unser unsere eu meu minha meus sou estou tenho moro gosto trabalho io mio mia miei sono ho abito lavoro
        ik mijn ben heb woon jag min mitt bor arbetar jestem mam mieszkam mój moja pracuję ben benim benden saya aku
        nací encanta gusta prefiro adoro amo"
}

word_set! {
    /// Function words of the same languages that English does not have.
    OTHER_LATIN = "el la los las un una de del que en y por para con es está son muy pero como más desde hace le les des
        une du et est dans avec pour sur pas très mais depuis chez der das den dem und ist nicht mit für auf ein eine
        einen seit bei aber auch sehr zu o os da em não é com uma mas muito il lo gli di che per non è sono molto ma
        het een van en niet met och att det är inte på się nie jest w z na bir ve bu için çok yang dan di untuk au aux
        al ao à als nach"
}

/// Ways to begin a sentence that only greets, thanks, reacts, asks or supposes.
const OPENINGS: &[&str] = &[
    // Greetings, thanks and reactions.
    "你好",
    "您好",
    "谢谢",
    "謝謝",
    "早上好",
    "晚上好",
    "再见",
    "好的",
    "哇",
    "哈哈",
    "嗨",
    "大家好",
    "こんにちは",
    "こんばんは",
    "おはよう",
    "ありがとう",
    "すごい",
    "はい",
    "いいえ",
    "よろしく",
    "안녕",
    "감사",
    "고마워",
    "네",
    "와",
    "привет",
    "здравствуй",
    "спасибо",
    "ого",
    "да,",
    "нет,",
    "مرحبا",
    "شكرا",
    "السلام",
    "أهلا",
    "สวัสดี",
    "ขอบคุณ",
    "नमस्ते",
    "धन्यवाद",
    "hola",
    "gracias",
    "buenos días",
    "bonjour",
    "salut",
    "merci",
    "hallo",
    "danke",
    "guten",
    "olá",
    "obrigad",
    "ciao",
    "grazie",
    "שלום",
    "תודה",
    "γεια",
    "ευχαριστώ",
    // Conditions and wishes.
    "如果",
    "要是",
    "假如",
    "也许",
    "可能",
    "もし",
    "たぶん",
    "만약",
    "если",
    "возможно",
    "может",
    "لو",
    "إذا",
    "ربما",
    "ถ้า",
    "अगर",
    "यदि",
    "si ",
    "ojalá",
    "quizás",
    "tal vez",
    "peut-être",
    "wenn",
    "falls",
    "vielleicht",
    "se ",
    "talvez",
    "forse",
    "als ",
    // The second person.
    "你",
    "您",
    "あなた",
    "君は",
    "너는",
    "당신",
    "ты",
    "вы",
    "أنت",
    "คุณ",
    "तुम",
    "आप",
    "tú ",
    "usted",
    "vos ",
    "tu ",
    "vous",
    "du ",
    "Sie ",
    "você",
    "voi ",
    "jij ",
    "je bent",
    // Requests.
    "请",
    "請",
    "帮我",
    "пожалуйста",
    "por favor",
    "bitte",
    "s'il",
    "रुपया",
    "कृपया",
    "من فضلك",
    "ช่วย",
    // Hearsay.
    "他说",
    "她说",
    "他說",
    "她說",
    "听说",
    "он сказал",
    "она сказала",
    "él dijo",
    "ella dijo",
    "dice que",
    "il dit",
    "elle dit",
    "er sagt",
    "sie sagt",
];

/// Endings and words that make a question without a question mark.
const QUESTIONS: &[&str] = &[
    "吗",
    "吗？",
    "呢",
    "吧",
    "是不是",
    "什么",
    "怎么",
    "为什么",
    "哪里",
    "哪儿",
    "谁",
    "多少",
    "几点",
    "か",
    "ですか",
    "ますか",
    "까요",
    "나요",
    "ไหม",
    "อะไร",
    "ทำไม",
    "ที่ไหน",
    "क्या",
    "कौन",
    "कहाँ",
    "क्यों",
    "هل ",
    "متى",
    "لماذا",
    "أين",
    "почему",
    "когда",
    "где ",
    "¿",
];

/// The first person in scripts other than Latin; the Chinese and Japanese ones may stand anywhere in the sentence.
const FIRST_OTHER: &[&str] = &[
    "我",
    "私",
    "僕",
    "俺",
    "咱",
    "うち",
    "나는",
    "나의",
    "저는",
    "제가",
    "내가",
    "내 ",
    "я ",
    "мой",
    "моя",
    "моё",
    "мои",
    "меня",
    "мне ",
    "мы ",
    "أنا",
    "ي ",
    "لدي",
    "أعمل",
    "أعيش",
    "أسكن",
    "أحب",
    "عندي",
    "ฉัน",
    "ผม",
    "ดิฉัน",
    "मैं",
    "मेरा",
    "मेरी",
    "मेरे",
    "मुझे",
    "אני",
    "שלי",
    "εγώ",
    "είμαι",
    "μου",
    "আমি",
    "நான்",
];

/// Whether the sentence belongs here rather than to the English rules.
pub(super) fn is_other(text: &str, found: &[Token<'_>]) -> bool {
    if latin_share(text) < 0.5 || text.contains(['¿', '¡']) {
        return true;
    }
    // An ideograph says more than a letter: a Latin product name must not outweigh a sentence around it.
    if text.chars().filter(|c| is_ideographic(*c) || is_unspaced(*c)).count() >= 4 {
        return true;
    }
    let words = || found.iter().filter(|t| t.is_word());
    let english = words()
        .filter(|t| STOP.contains(t.lower.as_str()) && !is_shared(&t.lower))
        .count();
    let other = words()
        .filter(|t| OTHER_LATIN.contains(t.lower.as_str()) || FIRST_LATIN.contains(t.lower.as_str()))
        .count();
    other > english && other > 0
}

/// Words that English shares with its neighbours.
fn is_shared(word: &str) -> bool {
    matches!(
        word,
        "a" | "me" | "no" | "on" | "as" | "in" | "was" | "so" | "do" | "am" | "an" | "also" | "is" | "or" | "to"
    )
}

/// Whether a sentence of another language states something: the statement is then the sentence itself.
///
/// Without a parser for that language only the clear cases are judged: questions, greetings, conditions, requests,
/// hearsay and what addresses the other are left out by how they begin or end. In the Latin script a first-person word
/// is required; in other scripts any remaining sentence of some length that does not merely exclaim is kept.
pub(super) fn is_statement(text: &str, end: char) -> bool {
    let found = tokens(text);
    let lower = text.to_lowercase();
    if end == '?' || OPENINGS.iter().any(|opening| lower.starts_with(opening)) {
        return false;
    }
    if QUESTIONS
        .iter()
        .any(|mark| lower.ends_with(mark) || (mark.len() > 5 && lower.contains(mark)))
    {
        return false;
    }
    if latin_share(text) >= 0.5 && !text.chars().any(is_ideographic) {
        let first = found.iter().any(|t| FIRST_LATIN.contains(t.lower.as_str()));
        return first && found.iter().filter(|t| t.is_word()).count() >= 3 && lower.chars().count() >= 8;
    }
    let dense = text.chars().filter(|c| is_ideographic(*c) || is_unspaced(*c)).count();
    let words = found.iter().filter(|t| t.is_word()).count();
    let long_enough = dense >= 4 || (dense == 0 && words >= 3);
    let padded = format!("{lower} ");
    let first = FIRST_OTHER.iter().any(|mark| padded.contains(mark));
    long_enough && (first || (end != '!' && (dense >= 6 || words >= 4)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str, end: char) -> Option<bool> {
        is_other(text, &tokens(text)).then(|| is_statement(text, end))
    }

    #[test]
    fn statements_of_other_languages_are_kept_and_the_rest_is_not() {
        for text in [
            "我住在北京",
            "将间隔时间改回2秒，重新加载完成（PID 26061）",
            "私は東京に住んでいます",
            "저는 서울에 살아요 그리고 일해요",
            "Я живу в Москве",
            "أعمل مهندسة في القاهرة",
            "ฉันทำงานที่โรงพยาบาล",
            "मैं दिल्ली में रहता हूँ",
            "Vivo en Madrid con mi hermana",
            "Ich wohne in Berlin",
            "J'habite à Lyon",
            "Moro em Lisboa desde 2020",
            "我用 SQLite 存数据",
        ] {
            assert_eq!(judge(text, '.'), Some(true), "{text}");
        }
        for (text, end) in [
            ("你住在利马", '.'),
            ("你好", '.'),
            ("你喜欢画画吗", '.'),
            ("如果我住在上海", '.'),
            ("太好了", '!'),
            ("Привет", '!'),
            ("¿Dónde vives", '?'),
            ("Si viviera en Lima sería feliz con mi perro", '.'),
            ("คุณอยู่ที่ลิมา", '.'),
            ("すごい", '!'),
            ("他说我很懒", '.'),
        ] {
            assert_eq!(judge(text, end), Some(false), "{text}");
        }
        for text in [
            "I work in Madrid",
            "I love my la-la land poster",
            "On my desk I have a cactus",
        ] {
            assert_eq!(judge(text, '.'), None, "{text}");
        }
    }
}
